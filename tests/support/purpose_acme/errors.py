class AcmeError(Exception):
    pass


class AcmeGroup(ExceptionGroup):
    def derive(self, excs):
        return AcmeGroup(self.message, excs)


class NoSuchColumn(AttributeError):
    """
    An author's class that derives from one which nobody uses to speak to a caller.
    """


def make_error(n):
    return ValueError(f"no {n}")
