"""
One call of each SDK that speaks HTTP, against a service that the test runs; retries of its own are off.

`body` is what the real service says beside a status: the SDK has to understand it.
"""

from typing import Any, NamedTuple

from stub import SECRET


def plain(status):
    return {"message": f"refused {SECRET}"}


class Sdk(NamedTuple):
    """
    An SDK: its call, and what the service it is for says beside a status.
    """

    call: Any
    body: Any = plain


def kubernetes(url):
    from kubernetes import client

    settings = client.Configuration()
    settings.host = url
    settings.retries = False
    client.CoreV1Api(client.ApiClient(settings)).read_namespaced_pod("pod", "namespace", _request_timeout=0.5)


def kubernetes_body(status):
    return {"kind": "Status", "status": "Failure", "reason": "Refused", "code": status, "message": f"no {SECRET}"}


def stripe(url):
    import stripe

    client = stripe.StripeClient(
        "sk_test_NOTREAL",
        base_addresses={"api": url},
        max_network_retries=0,
        http_client=stripe.RequestsClient(timeout=0.5),
    )
    client.v1.customers.retrieve("cus_1")


def stripe_body(status):
    kind = "api_error" if status >= 500 else "invalid_request_error"
    return {"error": {"type": kind, "message": f"refused {SECRET}", "param": "customer"}}


def github(url):
    import github

    client = github.Github(
        auth=github.Auth.Token("NOTREAL"),
        base_url=url,
        retry=None,
        timeout=1,
        seconds_between_requests=None,
        seconds_between_writes=None,
    )
    client.get_repo("owner/repository")


def slack(url):
    from slack_sdk import WebClient

    WebClient(token="NOTREAL", base_url=f"{url}/api/", timeout=1, retry_handlers=[]).chat_postMessage(
        channel="c", text="t"
    )


def slack_body(status):
    return {"ok": False, "error": "ratelimited" if status == 429 else "fatal_error"}


def elasticsearch(url):
    from elasticsearch import Elasticsearch

    Elasticsearch(url, request_timeout=0.5, max_retries=0, retry_on_timeout=False).search(index="i")


def elasticsearch_body(status):
    cause = {"type": "some_exception", "reason": f"refused {SECRET}"}
    return {"error": {"root_cause": [cause], **cause}, "status": status}


def opensearch(url):
    from opensearchpy import OpenSearch

    OpenSearch([url], timeout=0.5, max_retries=0).search(index="i", body={})


def azure_core(url):
    from azure.core import PipelineClient
    from azure.core.pipeline.policies import RetryPolicy
    from azure.core.rest import HttpRequest

    client = PipelineClient(url, retry_policy=RetryPolicy.no_retries())
    request = HttpRequest("GET", f"{url}/thing")
    client.send_request(request, read_timeout=0.5, connection_timeout=0.5).raise_for_status()


def azure_blob(url):
    from azure.storage.blob import BlobClient

    blob = BlobClient(f"{url}/account", "container", "blob", retry_total=0, read_timeout=0.5, connection_timeout=0.5)
    blob.download_blob().readall()


def google_genai(url):
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=url, timeout=500)
    client = genai.Client(api_key="NOTREAL", http_options=options)
    client.models.generate_content(model="m", contents="x")


def google_body(status):
    return {"error": {"code": status, "message": f"refused {SECRET}", "status": "FAILED"}}


def googleapiclient(url):
    import httplib2
    from googleapiclient.http import HttpRequest

    HttpRequest(httplib2.Http(timeout=0.5), lambda _response, content: content, f"{url}/x").execute()


def huggingface_hub(url):
    from huggingface_hub import HfApi

    HfApi(endpoint=url, token="NOTREAL").model_info("owner/model", timeout=0.5)


def ollama(url):
    import ollama

    ollama.Client(host=url, timeout=0.5).chat(model="m", messages=[])


def ollama_body(_status):
    return {"error": f"refused {SECRET}"}


def docker(url):
    import docker

    docker.DockerClient(base_url=url.replace("http", "tcp"), version="1.41", timeout=1).containers.get("x")


def notion(url):
    from notion_client import Client

    Client(auth="NOTREAL", base_url=url, timeout_ms=500).pages.retrieve("page")


def notion_body(status):
    codes = {
        400: "validation_error",
        401: "unauthorized",
        403: "restricted_resource",
        404: "object_not_found",
        409: "conflict_error",
        429: "rate_limited",
        500: "internal_server_error",
        503: "service_unavailable",
    }
    return {"object": "error", "status": status, "code": codes.get(status, "x"), "message": f"refused {SECRET}"}


def jira(url):
    from jira import JIRA

    options = {"server": url, "rest_api_version": "2"}
    JIRA(url, options=options, get_server_info=False, max_retries=0, timeout=1, token_auth="NOTREAL").issue("A-1")


def jira_body(_status):
    return {"errorMessages": [f"refused {SECRET}"], "errors": {}}


def atlassian(url):
    from atlassian import Confluence

    Confluence(url, username="u", password="NOTREAL", timeout=1).get_page_by_id("1")


def gitlab(url):
    import gitlab

    client = gitlab.Gitlab(url, private_token="NOTREAL", timeout=1)
    client.http_get("/projects/1", max_retries=0, obey_rate_limit=False)


def minio(url):
    import minio
    import urllib3

    pool = urllib3.PoolManager(timeout=0.5, retries=False)
    minio.Minio(url.removeprefix("http://"), "a", "NOTREAL", secure=False, region="eu", http_client=pool).get_object(
        "bucket", "object"
    )


def minio_body(status):
    codes = {404: "NoSuchKey", 403: "AccessDenied", 503: "SlowDown", 500: "InternalError", 401: "AccessDenied"}
    return (
        f"<Error><Code>{codes.get(status, 'InvalidRequest')}</Code><Message>refused {SECRET}</Message>"
        "<Resource>/bucket/object</Resource><RequestId>1</RequestId><HostId>1</HostId></Error>"
    )


def clickhouse(url):
    import clickhouse_connect

    host, port = url.removeprefix("http://").split(":")
    clickhouse_connect.get_client(
        host=host,
        port=int(port),
        username="u",
        password="NOTREAL",
        connect_timeout=1,
        send_receive_timeout=1,
        query_retries=0,
    )


def clickhouse_body(_status):
    # A number that no table knows; what a database says is a diagnosis, and shown.
    return "Code: 99999. DB::Exception: refused. (SOME_ERROR)"


def websockets(url):
    from websockets.sync.client import connect

    connect(url.replace("http", "ws"), open_timeout=0.5)


SDKS = {
    "kubernetes": Sdk(kubernetes, kubernetes_body),
    "stripe": Sdk(stripe, stripe_body),
    "PyGithub": Sdk(github),
    "slack_sdk": Sdk(slack, slack_body),
    "elasticsearch": Sdk(elasticsearch, elasticsearch_body),
    "opensearch-py": Sdk(opensearch, elasticsearch_body),
    "azure-core": Sdk(azure_core, google_body),
    "azure-storage-blob": Sdk(azure_blob, google_body),
    "google-genai": Sdk(google_genai, google_body),
    "google-api-python-client": Sdk(googleapiclient, google_body),
    "huggingface_hub": Sdk(huggingface_hub),
    "ollama": Sdk(ollama, ollama_body),
    "docker": Sdk(docker),
    "notion-client": Sdk(notion, notion_body),
    "jira": Sdk(jira, jira_body),
    "atlassian-python-api": Sdk(atlassian),
    "python-gitlab": Sdk(gitlab),
    "minio": Sdk(minio, minio_body),
    "clickhouse-connect": Sdk(clickhouse, clickhouse_body),
    "websockets": Sdk(websockets),
}
