"""
What holds for all tests: none fails because the machine is slow.
"""

import contextlib


# Some environments have no Hypothesis.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any speed")
