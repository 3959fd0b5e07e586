"""
An MCP server over HTTP that wants a login, with the authorization server of the MCP SDK beside it.

``login_server.py PORT [refuse]`` prints a line for each login, refresh and refusal. With ``refuse`` every user says no.
"""

import secrets
import sys
import time

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthToken
from starlette.responses import JSONResponse
from starlette.routing import Route


class Authority:
    """
    An authorization server whose only user always agrees, or never.
    """

    def __init__(self, *, agrees):
        self.agrees = agrees
        self.clients, self.codes, self.tokens, self.refreshes = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        tell("registered")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        if not self.agrees:
            tell("refused")
            return construct_redirect_uri(
                str(params.redirect_uri),
                error="access_denied",
                error_description="The user said no",
                state=params.state,
            )
        code = secrets.token_urlsafe(24)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        tell("logged in")
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes)

    async def load_refresh_token(self, client, refresh_token):
        return self.refreshes.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        tell("refreshed")
        return self.issue(client.client_id, scopes)

    async def load_access_token(self, token):
        return self.tokens.get(token)

    async def revoke_token(self, token):
        self.tokens.pop(token.token, None)

    def issue(self, client_id, scopes):
        access, refresh = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self.tokens[access] = AccessToken(token=access, client_id=client_id, scopes=scopes)
        self.refreshes[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(access_token=access, expires_in=3600, refresh_token=refresh, scope=" ".join(scopes))


def tell(sentence):
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def main():
    port, agrees = int(sys.argv[1]), sys.argv[2:] != ["refuse"]
    url = f"http://127.0.0.1:{port}"
    authority = Authority(agrees=agrees)
    server = MCPServer(
        "login",
        auth_server_provider=authority,
        auth=AuthSettings(
            issuer_url=url,
            resource_server_url=f"{url}/mcp",
            validate_token_resource=False,
            client_registration_options=ClientRegistrationOptions(enabled=True),
        ),
    )

    @server.tool()
    def hello() -> str:
        return "hello"

    async def expire(_request):
        authority.tokens.clear()
        return JSONResponse({})

    app = server.streamable_http_app()
    app.routes.append(Route("/expire", expire, methods=["POST"]))
    tell("ready")
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    main()
