def check(n):
    if n < 1:
        raise ValueError("n must be positive")


def crash(text):
    return int(text)


def again(exc):
    raise exc
