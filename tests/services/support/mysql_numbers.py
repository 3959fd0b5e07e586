"""
What errors of a MySQL server become, whatever driver reports them.
"""

INTERNAL = ("internal", "permanent", False, None)
OUTAGE = ("internal", "transient", True, None)
LATE = ("tool_timeout", "transient", True, None)
LOGIN = ("internal", "auth", False, None)
ARGUMENTS = ("invalid_arguments", "validation", False, None)
PANICKED = ("tool_panicked", "permanent", False, None)
LIMIT = ("quota_exceeded", "transient", True, None)

#: A number and its SQLSTATE, as the server sends them, and what they become.
MYSQL = [
    (1040, "08004", "Too many connections", OUTAGE),
    (1045, "28000", "Access denied for user 'app'@'10.0.0.7' (using password: YES)", LOGIN),
    (1049, "42000", "Unknown database 'shop'", INTERNAL),
    (1054, "42S22", "Unknown column 'x' in 'field list'", PANICKED),
    (1062, "23000", "Duplicate entry 'NOTREAL' for key 'users.email'", ARGUMENTS),
    (1064, "42000", "You have an error in your SQL syntax near 'selct'", PANICKED),
    (1142, "42000", "SELECT command denied to user 'app'@'10.0.0.7' for table 't'", LOGIN),
    (1146, "42S02", "Table 'shop.nope' doesn't exist", PANICKED),
    (1205, "HY000", "Lock wait timeout exceeded; try restarting transaction", OUTAGE),
    (1213, "40001", "Deadlock found when trying to get lock", OUTAGE),
    (1226, "42000", "User 'app' has exceeded the 'max_questions' resource", LIMIT),
    (1292, "22007", "Incorrect date value: 'NOTREAL' for column 'd'", ARGUMENTS),
    (1406, "22001", "Data too long for column 'name' at row 1", ARGUMENTS),
    (1451, "23000", "Cannot delete or update a parent row", ARGUMENTS),
    (3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded", LATE),
    (9999, "HY000", "Something else", INTERNAL),
]
