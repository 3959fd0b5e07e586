def check(n):
    raise ValueError(f"{n} is no number of things")
