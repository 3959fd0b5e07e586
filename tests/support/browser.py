"""
A browser without a user: it opens a page and follows where it leads.
"""

import sys
from urllib.request import ProxyHandler, build_opener


build_opener(ProxyHandler({})).open(sys.argv[1], timeout=30).read()
