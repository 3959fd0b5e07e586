"""
Secrets that show by themselves what they are: JSON web tokens, and what vendors begin their tokens
with.

Rule 1: a new vendor needs two entries, one to be found quickly and one to be matched.
Rule 2: what matches and has no digits or capitals among its letters is a word, and stays.
"""

from __future__ import annotations

from typing import Final

from toolfault._redact.words import REMOVED, any_of, is_mixed
from toolfault._text import pattern


def without_tokens(text: str) -> str:
    """
    Return a text without tokens.
    """
    if "eyJ" in text:
        text = pattern(_JWT).sub(lambda token: REMOVED if "." in token[0] else token[0], text)
    if (
        any_of(_PREFIXES, text)
        or ("-" in text and any_of(_DASHED, text))
        or ("_" in text and any_of(_UNDERSCORED, text))
    ):
        text = pattern(_VENDOR).sub(lambda token: REMOVED if is_mixed(token[0]) else token[0], text)
    return text


# JSON web tokens. Runs without a dot match too, so that they are passed over at once; they stay.

_JWT: Final = r"eyJ[\w-]{8,}(?:\.[\w-]*){0,4}"


# What vendors begin their tokens with.

_PREFIXES: Final = (
    "AKIA", "ASIA", "AIza", "ya29.", "SG.", "hvs.", "hvb.", "hvr.", "ATATT", "dapi", "hooks.slack.com/", ":AA",
    "SK", "EAA", "AGE-",
)  # fmt: skip
_DASHED: Final = (
    "sk-", "xox", "xapp-", "pypi-", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-",
    "glagent-", "nvapi-", "xai-", "key-", "sq0", "pat-", "tvly-", "pplx-",
)  # fmt: skip
_UNDERSCORED: Final = (
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "k_live_", "k_test_", "whsec_", "hf_", "npm_", "glsa_",
    "shpat_", "shpca_", "shppa_", "shpss_", "dop_v1_", "doo_v1_", "dor_v1_", "gsk_", "dckr_pat_", "sntrys_",
    "figd_", "lin_api_", "ntn_", "r8_", "fw_",
)  # fmt: skip

_VENDOR: Final = r"""(?x)
    (?<![A-Za-z0-9]) (?:
      (?:AKIA|ASIA)[A-Z0-9]{12,}                                    # AWS
    | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,}               # GitHub
    | gl[a-z]{2,6}-[\w.-]{16,} | glsa_\w{20,}                       # GitLab, Grafana
    | xox[a-z]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}           # Slack
    | hooks\.slack\.com/services/[\w/]{16,}
    | [srp]k_(?:live|test)_[A-Za-z0-9]{8,} | whsec_[\w+/=-]{16,}    # Stripe
    | sk-[\w-]{16,}                                                 # OpenAI, Anthropic
    | gsk_\w{20,} | xai-\w{20,} | nvapi-[\w-]{20,}                  # Groq, xAI, NVIDIA
    | AIza[\w-]{30,} | ya29\.[\w.-]{10,}                           # Google
    | hf_[A-Za-z0-9]{20,}                                           # Hugging Face
    | npm_[A-Za-z0-9]{20,} | pypi-[\w-]{20,} | dckr_pat_[\w-]{20,}  # npm, PyPI, Docker Hub
    | SG\.[\w-]{10,64}\.[\w-]{10,}                                 # SendGrid
    | hv[sbr]\.[\w-]{20,}                                          # Vault
    | shp[a-z]{2}_[A-Za-z0-9]{20,} | do[opr]_v1_[A-Za-z0-9]{20,}    # Shopify, DigitalOcean
    | ATATT[\w=-]{20,} | dapi[0-9a-f]{30,} | sntrys_[\w+/=]{20,}    # Atlassian, Databricks, Sentry
    | (?:bot)?\d{6,12}:AA[\w-]{20,}                                # Telegram
    | key-[0-9a-f]{32} | SK[0-9a-f]{32} | sq0[a-z]{3}-[\w-]{20,}     # Mailgun, Twilio, Square
    | figd_[\w-]{20,} | lin_api_\w{20,} | ntn_\w{20,}              # Figma, Linear, Notion
    | pat-[a-z]{2}\d-[0-9a-f-]{30,} | r8_\w{20,} | tvly-[\w-]{20,}  # HubSpot, Replicate, Tavily
    | pplx-\w{20,} | fw_\w{20,} | EAA[A-Za-z0-9]{30,}               # Perplexity, Fireworks, Facebook
    | AGE-SECRET-KEY-1[A-Z0-9]{20,}                                # age
    )
    """
