"""
Secrets that their own form gives away: JSON web tokens, and the tokens of vendors.

Rule 1: a vendor is one line of `VENDORS`. To add one, write the vendor's name, a part that each of
its tokens has (it is looked for before the pattern runs), the pattern, and the source of the form.
Add a sample to ``tests/support/secret_samples.py``.
Rule 2: a match without a digit beside a letter is a word and stays, unless the form is `EXACT`.
Rule 3: a pattern begins with its marker or with a bounded repetition, so that time grows with the
text and no faster.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from toolfault._redact.words import REMOVED, is_mixed
from toolfault._text import pattern


#: The form alone tells a token; it may be letters only.
EXACT: Final = True


class Vendor(NamedTuple):
    """
    The form of one vendor's tokens.

    Attributes:
        name: The vendor, and the kind of token where it has several.
        marker: A part that stands in each token.
        form: The pattern of a whole token.
        source: Where the form is published: ``gitleaks/X`` is cmd/generate/config/rules/X.go in
            github.com/gitleaks/gitleaks, ``trufflehog/X`` is pkg/detectors/X in
            github.com/trufflesecurity/trufflehog, ``github`` is docs.github.com, "Supported secret
            scanning patterns"; all others are the vendor's own pages.
        exact: Whether the form alone tells a token, `EXACT`; else it must mix letters and digits.
    """

    name: str
    marker: str
    form: str
    source: str
    exact: bool = False


VENDORS: Final = (
    # Clouds
    Vendor("AWS key id", "AKIA", r"AKIA[A-Z0-9]{12,124}", "gitleaks/aws"),
    Vendor(
        "AWS key id of letters", "AKIA", r"AKIA[A-Z2-7]{16}(?![A-Za-z0-9])", "gitleaks/aws", EXACT
    ),
    Vendor("AWS temporary key id", "ASIA", r"ASIA[A-Z0-9]{12,124}", "gitleaks/aws"),
    Vendor(
        "AWS temporary key id of letters",
        "ASIA",
        r"ASIA[A-Z2-7]{16}(?![A-Za-z0-9])",
        "gitleaks/aws",
        EXACT,
    ),
    Vendor("AWS Bedrock", "ABSK", r"ABSK[A-Za-z0-9+/]{40,400}={0,2}", "gitleaks/aws"),
    Vendor(
        "AWS Bedrock, short-lived",
        "bedrock-api-key-",
        r"bedrock-api-key-[A-Za-z0-9+/=]{20,4096}",
        "gitleaks/aws",
    ),
    Vendor("Google API key", "AIza", r"AIza[\w-]{30,}", "gitleaks/gcp"),
    Vendor("Google access token", "ya29.", r"ya29\.[\w.-]{10,}", "trufflehog/googleoauth2"),
    Vendor("Google refresh token", "1//0", r"1//0[\w-]{30,}", "github"),
    Vendor("Google client secret", "GOCSPX-", r"GOCSPX-[\w-]{20,}", "github"),
    Vendor(
        "Google Vertex AI",
        "AQ.",
        r"AQ\.[\w-]{30,}",
        "https://cloud.google.com/docs/authentication/api-keys",
    ),
    Vendor("Azure resource key", "JQQJ99", r"[A-Za-z0-9]{20,90}JQQJ99[A-Za-z0-9]{10,40}", "github"),
    Vendor(
        "Azure storage, Cosmos, Batch",
        "ASt",
        r"[A-Za-z0-9+/]{60,90}\+?ASt[A-Za-z0-9+/]{2,12}={0,2}",
        "github",
    ),
    Vendor(
        "Microsoft Entra client secret", "Q~", r"[\w.~-]{3}\dQ~[\w.~-]{30,40}", "gitleaks/azure"
    ),
    Vendor("Alibaba", "LTAI", r"LTAI[A-Za-z0-9]{12,24}", "gitleaks/alibaba"),
    Vendor("Tencent", "AKID", r"AKID[A-Za-z0-9]{28,40}", "github"),
    Vendor("DigitalOcean", "_v1_", r"do[oprs]_v1_[A-Za-z0-9]{20,}", "gitleaks/digitalocean"),
    Vendor("Scaleway", "SCW", r"SCW[A-Z0-9]{17}(?![A-Za-z0-9])", "trufflehog/scalewaykey"),
    Vendor("Yandex", "AQVN", r"AQVN[\w-]{35,40}", "gitleaks/yandex"),
    Vendor("Fly.io", "fm2_", r"fm2_[A-Za-z0-9+/]{20,}={0,3}", "gitleaks/flyio"),
    Vendor("Fly.io, older", "fm1", r"fm1[ar]_[A-Za-z0-9+/]{20,}={0,3}", "gitleaks/flyio"),
    Vendor("Heroku", "HRKU-", r"HRKU-[\w-]{30,}", "gitleaks/heroku"),
    Vendor("Netlify", "nf", r"nf[pcoub]_[A-Za-z0-9]{30,}", "github"),
    Vendor("Vercel", "vc", r"vc[apikr]_[A-Za-z0-9]{24,}", "github"),
    Vendor("Render", "rnd_", r"rnd_[A-Za-z0-9]{20,}", "trufflehog/render"),
    Vendor(
        "Cloudflare origin CA",
        "v1.0-",
        r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,160}",
        "gitleaks/cloudflare",
    ),
    Vendor(
        "Terraform Cloud",
        ".atlasv1.",
        r"[A-Za-z0-9]{10,20}\.atlasv1\.[\w-]{40,}",
        "gitleaks/hashicorp",
    ),
    Vendor("Vault", "hv", r"hv[sbr]\.[\w-]{20,}", "gitleaks/hashicorp_vault"),
    Vendor("Vault, before 1.10", "s.", r"s\.[A-Za-z0-9]{24}(?![\w.-])", "gitleaks/hashicorp_vault"),
    Vendor("Pulumi", "pul-", r"pul-[a-f0-9]{40}", "gitleaks/pulumi"),
    Vendor(
        "Doppler", "dp.", r"dp\.(?:pt|st|ct|scim|audit|sa|said)\.[\w.-]{30,}", "gitleaks/doppler"
    ),
    Vendor(
        "1Password service account",
        "ops_eyJ",
        r"ops_eyJ[A-Za-z0-9+/]{20,}={0,3}",
        "gitleaks/1password",
    ),
    Vendor(
        "1Password secret key",
        "A3-",
        r"A3-[A-Z0-9]{6}-[A-Z0-9]{5,11}(?:-[A-Z0-9]{5,6}){2,4}",
        "gitleaks/1password",
    ),
    Vendor(
        "Infisical", "st.", r"st\.[a-f0-9-]{20,40}\.[a-f0-9.]{20,100}", "trufflehog/infisicalauth"
    ),
    Vendor("Tailscale", "tskey-", r"tskey-[a-z]{2,12}-[\w-]{20,}", "trufflehog/tailscale"),
    Vendor("Databricks", "dapi", r"dapi[0-9a-f]{30,}(?:-\d)?", "gitleaks/databricks"),
    Vendor("OpenShift", "sha256~", r"sha256~[\w-]{43}", "gitleaks/openshift"),
    Vendor("age", "AGE-", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}", "gitleaks/age"),
    # Code and packages
    Vendor("GitHub", "gh", r"gh[pousr]_[A-Za-z0-9]{20,}", "gitleaks/github"),
    Vendor("GitHub, fine-grained", "github_pat_", r"github_pat_\w{20,}", "gitleaks/github"),
    Vendor("GitLab", "gl", r"gl[a-z]{2,6}-[\w.-]{16,}", "gitleaks/gitlab"),
    Vendor("GitLab runner", "GR1348941", r"GR1348941[\w-]{20,}", "gitleaks/gitlab"),
    Vendor("Bitbucket", "ATBB", r"ATBB[\w=-]{20,}", "trufflehog/bitbucketapppassword"),
    Vendor("Atlassian", "AT", r"AT[AC]TT3?[\w=-]{20,}", "gitleaks/atlassian"),
    Vendor("npm", "npm_", r"npm_[A-Za-z0-9]{20,}", "gitleaks/npm"),
    Vendor("PyPI", "pypi-", r"pypi-[\w-]{20,}", "gitleaks/pypi"),
    Vendor("RubyGems", "rubygems_", r"rubygems_[a-f0-9]{40,}", "gitleaks/rubygems"),
    Vendor("NuGet", "oy2", r"oy2[a-z0-9]{43}", "gitleaks/nuget"),
    Vendor("crates.io", "cio", r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])", "github"),
    Vendor("Clojars", "CLOJARS_", r"CLOJARS_[a-z0-9]{40,}", "gitleaks/clojars"),
    Vendor("Docker", "dckr_", r"dckr_[a-z]{2,6}_[\w-]{20,}", "trufflehog/dockerhub"),
    Vendor("Artifactory", "AKCp", r"AKCp[A-Za-z0-9]{60,}", "gitleaks/artifactory"),
    Vendor(
        "Artifactory reference", "cmVmd", r"cmVmd[A-Za-z0-9]{50,}={0,2}", "gitleaks/artifactory"
    ),
    Vendor(
        "Buildkite", "bk", r"bk(?:ua|aj|ct|at|pt|pi|rt)_[A-Za-z0-9]{30,}", "trufflehog/buildkite"
    ),
    Vendor("CircleCI", "CCIP", r"CCIP(?:AT|RJ)_[\w-]{20,}", "trufflehog/circleci"),
    Vendor("SonarQube", "sq", r"sq[apu]_[a-f0-9]{30,}", "gitleaks/sonar"),
    Vendor("Snyk", "snyk_", r"snyk_[a-z]{2,8}_[\w.-]{20,}", "github"),
    Vendor("Sourcegraph", "sgp_", r"sgp_[A-Za-z0-9_]{30,}", "gitleaks/sourcegraph"),
    Vendor("Prefect", "pn", r"pn[bu]_[A-Za-z0-9]{30,}", "gitleaks/prefect"),
    Vendor("Postman", "PMAK-", r"PMAK-[a-f0-9]{20,}-[a-f0-9]{30,}", "gitleaks/postman"),
    Vendor("ReadMe", "rdme_", r"rdme_[A-Za-z0-9]{60,}", "gitleaks/readme"),
    Vendor(
        "LaunchDarkly",
        "sdk-",
        r"sdk-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}",
        "trufflehog/launchdarkly",
    ),
    Vendor(
        "LaunchDarkly, mobile",
        "mob-",
        r"mob-[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}",
        "trufflehog/launchdarkly",
    ),
    Vendor(
        "Harness",
        "pat.",
        r"pat\.[\w-]{20,24}\.[0-9a-f]{20,26}\.[A-Za-z0-9]{18,22}",
        "gitleaks/harness",
    ),
    # Chat and mail
    Vendor("Slack", "xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}", "gitleaks/slack"),
    Vendor("Slack app", "xapp-", r"xapp-[A-Za-z0-9-]{10,}", "gitleaks/slack"),
    Vendor(
        "Slack webhook",
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[\w/]{16,}",
        "gitleaks/slack",
    ),
    Vendor(
        "Discord bot",
        ".",
        r"[MNO][A-Za-z0-9_-]{22,27}\.[\w-]{6}\.[\w-]{25,}",
        "trufflehog/discordbottoken",
    ),
    Vendor(
        "Discord webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{15,22}/[\w-]{40,}",
        "trufflehog/discordwebhook",
    ),
    Vendor(
        "Teams webhook",
        ".webhook.office.com/",
        r"[\w-]{1,63}\.webhook\.office\.com/webhookb2/[\w@/-]{60,}",
        "gitleaks/teams",
    ),
    Vendor(
        "Google Chat webhook",
        "chat.googleapis.com/",
        r"chat\.googleapis\.com/v1/spaces/[\w-]{4,32}/messages\?[\w=&%.-]{40,}",
        "https://developers.google.com/workspace/chat/quickstart/webhooks",
    ),
    Vendor("Telegram", ":AA", r"(?:bot)?\d{6,12}:AA[\w-]{20,}", "gitleaks/telegram"),
    Vendor("SendGrid", "SG.", r"SG\.[\w-]{10,64}\.[\w-]{10,}", "gitleaks/sendgrid"),
    Vendor("Mailgun", "key-", r"key-[0-9a-f]{32}", "gitleaks/mailgun"),
    Vendor("Mailchimp", "-us", r"[0-9a-f]{32}-us\d{1,2}", "gitleaks/mailchimp"),
    Vendor("MailerSend", "mlsn.", r"mlsn\.[0-9a-f]{40,}", "trufflehog/mailersend"),
    Vendor(
        "Brevo", "ib-", r"x(?:keys|smtps)ib-[0-9a-f]{40,}-[A-Za-z0-9]{10,}", "gitleaks/sendinblue"
    ),
    Vendor("Resend", "re_", r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}", "trufflehog/resend"),
    Vendor("Twilio", "SK", r"SK[0-9a-f]{32}", "gitleaks/twilio"),
    # Money and shops
    Vendor("Stripe", "k_", r"[srp]k_(?:live|test|prod)_[A-Za-z0-9]{8,}", "gitleaks/stripe"),
    Vendor("Stripe webhook", "whsec_", r"whsec_[\w+/=-]{16,}", "https://docs.stripe.com/webhooks"),
    Vendor(
        "PayPal",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{10,}\$[a-f0-9]{20,}",
        "trufflehog/braintreepayments",
    ),
    Vendor("Square", "sq0", r"sq0[a-z]{3}-[\w-]{20,}", "gitleaks/square"),
    Vendor("Square, Facebook", "EAA", r"EAA[A-Za-z0-9_-]{30,}", "gitleaks/square"),
    Vendor("Adyen", "AQE", r"AQE[\w+/-]{40,}={0,2}", "gitleaks/adyen"),
    Vendor("Shopify", "shp", r"shp[a-z]{2}_[A-Za-z0-9]{20,}", "gitleaks/shopify"),
    Vendor("EasyPost", "EZ", r"EZ[AT]K[A-Za-z0-9]{50,}", "gitleaks/easypost"),
    Vendor(
        "Flutterwave",
        "FLW",
        r"FLW(?:PUBK|SECK)(?:_TEST)?-[A-Za-z0-9-]{12,}",
        "gitleaks/flutterwave",
    ),
    Vendor("Shippo", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{30,}", "gitleaks/shippo"),
    Vendor(
        "Plaid",
        "access-",
        r"access-(?:sandbox|development|production)-[0-9a-f-]{30,}",
        "gitleaks/plaid",
    ),
    Vendor("Duffel", "duffel_", r"duffel_(?:test|live)_[\w=-]{30,}", "gitleaks/duffel"),
    # Models
    Vendor("OpenAI, Anthropic and others", "sk-", r"sk-[\w-]{16,}", "gitleaks/openai"),
    Vendor("ElevenLabs", "sk_", r"sk_[0-9a-f]{40,}", "trufflehog/elevenlabs"),
    Vendor("Groq", "gsk_", r"gsk_\w{20,}", "trufflehog/groq"),
    Vendor("xAI", "xai-", r"xai-\w{20,}", "trufflehog/xai"),
    Vendor("NVIDIA", "nvapi-", r"nvapi-[\w-]{20,}", "trufflehog/nvapi"),
    Vendor("Hugging Face", "hf_", r"hf_[A-Za-z0-9]{20,}", "gitleaks/huggingface"),
    Vendor(
        "Hugging Face organisation",
        "api_org_",
        r"api_org_[A-Za-z0-9]{20,}",
        "gitleaks/huggingface",
    ),
    Vendor("Replicate", "r8_", r"r8_\w{20,}", "trufflehog/replicate"),
    Vendor("Tavily", "tvly-", r"tvly-[\w-]{20,}", "github"),
    Vendor("Perplexity", "pplx-", r"pplx-\w{20,}", "gitleaks/perplexity"),
    Vendor("Fireworks", "fw_", r"fw_\w{20,}", "github"),
    Vendor(
        "LangSmith",
        "lsv2_",
        r"lsv2_[a-z]{2}_[a-f0-9]{20,}(?:_[a-f0-9]{6,12})?",
        "gitleaks/langsmith",
    ),
    Vendor("LangSmith, older", "ls__", r"ls__[a-f0-9]{30,}", "github"),
    Vendor("Jina", "jina_", r"jina_[\w-]{30,}", "https://jina.ai/api-dashboard"),
    Vendor(
        "Together",
        "tgp_v1_",
        r"tgp_v1_[\w-]{30,}",
        "https://docs.together.ai/docs/api-keys-authentication",
    ),
    Vendor(
        "Pinecone",
        "pcsk_",
        r"pcsk_\w{40,}",
        "https://docs.pinecone.io/guides/projects/manage-api-keys",
    ),
    Vendor(
        "Cerebras", "csk-", r"csk-[A-Za-z0-9]{30,}", "https://inference-docs.cerebras.ai/quickstart"
    ),
    Vendor("E2B", "e2b_", r"e2b_[a-f0-9]{30,}", "https://e2b.dev/docs/api-key"),
    Vendor("Firecrawl", "fc-", r"fc-[a-f0-9]{30,}", "https://docs.firecrawl.dev/introduction"),
    Vendor("Anyscale", "esecret_", r"esecret_[A-Za-z0-9]{20,}", "trufflehog/anyscale"),
    Vendor(
        "Weights & Biases",
        "wandb_v1_",
        r"wandb_v1_\w{40,}",
        "https://docs.wandb.ai/models/quickstart",
    ),
    # Data and operations
    Vendor("Supabase", "sbp_", r"sbp_(?:v0_|oauth_)?[a-f0-9]{30,}", "trufflehog/supabasetoken"),
    Vendor(
        "Supabase secret",
        "sb_secret_",
        r"sb_secret_[\w-]{20,}",
        "https://supabase.com/docs/guides/api/api-keys",
    ),
    Vendor("PlanetScale", "pscale_", r"pscale_[a-z]{2,6}_[\w.=-]{30,}", "gitleaks/planetscale"),
    Vendor("Neon", "napi_", r"napi_[A-Za-z0-9]{40,}", "https://neon.com/docs/manage/api-keys"),
    Vendor("ClickHouse", "4b1d", r"4b1d[A-Za-z0-9]{38}", "gitleaks/clickhouse"),
    Vendor("Airtable", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{40,}", "gitleaks/airtable"),
    Vendor("Notion", "ntn_", r"ntn_\w{20,}", "gitleaks/notion"),
    Vendor("Notion, older", "secret_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])", "github"),
    Vendor("Linear", "lin_", r"lin_(?:api|oauth)_\w{20,}", "gitleaks/linear"),
    Vendor("Figma", "fig", r"fig[dou]r?_[\w-]{20,}", "github"),
    Vendor("HubSpot", "pat-", r"pat-[a-z]{2}\d-[0-9a-f-]{30,}", "github"),
    Vendor("Typeform", "tfp_", r"tfp_[\w.=-]{40,}", "gitleaks/typeform"),
    Vendor("Dropbox", "sl.", r"sl\.(?:u\.)?[\w=-]{60,}", "gitleaks/dropbox"),
    Vendor("Grafana", "gl", r"gl(?:c|sa)_[\w+/]{20,}={0,2}", "gitleaks/grafana"),
    Vendor("New Relic", "NR", r"NR(?:AK|II|RA|AL|JS)-[A-Za-z0-9-]{16,}", "gitleaks/newrelic"),
    Vendor(
        "Dynatrace", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{20,}\.[A-Z0-9]{60,}", "gitleaks/dynatrace"
    ),
    Vendor("Sentry", "sntry", r"sntry[a-z]{1,2}_[\w+/=]{20,}", "gitleaks/sentry"),
    Vendor("PostHog", "ph", r"ph[xs]_[A-Za-z0-9]{30,}", "trufflehog/posthog"),
    Vendor("Mapbox", "k.ey", r"[st]k\.ey[A-Za-z0-9_-]{20,}\.[\w-]{10,}", "gitleaks/mapbox"),
    Vendor("Apify", "apify_api_", r"apify_api_[A-Za-z0-9-]{30,}", "trufflehog/apify"),
    Vendor("Contentful", "CFPAT-", r"CFPAT-[\w-]{30,}", "gitleaks/contentful"),
    Vendor(
        "PASETO",
        ".local.",
        r"v[1-4]\.local\.[\w-]{32,}(?:\.[\w-]{1,1024})?",
        "github.com/paseto-standard/paseto-spec",
    ),
    Vendor(
        "PASETO, signed",
        ".public.",
        r"v[1-4]\.public\.[\w-]{32,}(?:\.[\w-]{1,1024})?",
        "github.com/paseto-standard/paseto-spec",
    ),
)  # fmt: skip

# JSON web tokens. Runs without a dot match too, so that they are passed over at once; they stay.
_JWT: Final = r"eyJ[\w-]{8,}(?:\.[\w-]*){0,4}"


#: Each token has a run of so many characters; most texts have none, and end here.
_LONG_RUN: Final = r"[\w.~+/$:@=-]{15}"

#: And one of these.
_CAPITAL_OR_DIGIT: Final = r"[A-Z0-9]"

#: No token begins inside a word.
_ALONE: Final = r"(?<![A-Za-z0-9])"


def redact_tokens(text: str) -> str:
    """
    Return a text without tokens.
    """
    if pattern(_LONG_RUN).search(text) is None or pattern(_CAPITAL_OR_DIGIT).search(text) is None:
        return text
    if "eyJ" in text:
        text = pattern(_JWT).sub(_hide_jwt, text)
    for vendor in [vendor for vendor in VENDORS if vendor.marker in text]:
        text = pattern(_source_of(vendor)).sub(_hide if vendor.exact else _hide_mixed, text)
    return text


@cache
def _source_of(vendor: Vendor) -> str:
    # A pattern that begins with its marker is found at the speed of a substring.
    marker = re.escape(vendor.marker)
    if not vendor.form.startswith(marker):
        return _ALONE + vendor.form
    return f"{marker}(?<![A-Za-z0-9]{marker}){vendor.form.removeprefix(marker)}"


def _hide_jwt(token: re.Match[str]) -> str:
    return REMOVED if "." in token[0] else token[0]


def _hide(_: re.Match[str]) -> str:
    return REMOVED


def _hide_mixed(token: re.Match[str]) -> str:
    return REMOVED if is_mixed(token[0]) else token[0]
