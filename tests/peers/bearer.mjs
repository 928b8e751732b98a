/*
 * bearer.mjs - a server on the TypeScript SDK 2.x lets in who has a token, as its users
 * would do it
 *
 *     gate = await bearer(program)      program: our test-issuer, which is started
 *     if (await gate(request, response, web)) ...   may come in; else it is answered
 */
import { createPublicKey, verify } from 'node:crypto';
import { getOAuthProtectedResourceMetadataUrl, OAuthError, OAuthErrorCode,
    oauthMetadataResponse, requireBearerAuth } from '@modelcontextprotocol/server';
import { start } from './reach.mjs';

const json = async url => (await fetch(url)).json();
const part = text => JSON.parse(Buffer.from(text, 'base64url'));

/* An access token of the issuer, as a JWT (RFC 9068). */
async function read(token, issuer) {
    const [head, claims, signature] = token.split('.');
    const { keys } = await json(`${issuer}/jwks`);
    const jwk = keys.find(key => key.kid === part(head).kid);
    const key = { key: createPublicKey({ key: jwk, format: 'jwk' }),
        dsaEncoding: 'ieee-p1363' };

    if (!verify('sha256', Buffer.from(`${head}.${claims}`), key,
        Buffer.from(signature, 'base64url')))
        throw new Error('not signed by the issuer');
    return part(claims);
}

async function verifyAccessToken(token, issuer) {
    try {
        const { client_id: clientId, scope = '', exp, aud, iss } =
            await read(token, issuer);

        if (iss !== issuer)
            throw new Error('of another issuer');
        return { token, clientId, scopes: scope.split(' ').filter(Boolean),
            expiresAt: exp, resource: new URL(aud) };
    } catch (error) {
        throw new OAuthError(OAuthErrorCode.InvalidToken, String(error));
    }
}

async function answer(response, web) {
    response.writeHead(web.status, Object.fromEntries(web.headers));
    response.end(await web.text());
}

export async function bearer(program) {
    const { url: issuer } = await start(program);
    const oauthMetadata = await json(`${issuer}/.well-known/oauth-authorization-server`);

    return async (request, response, web) => {
        const resource = new URL(`http://${request.headers.host}/mcp`);
        const gate = requireBearerAuth({
            verifier: { verifyAccessToken: token => verifyAccessToken(token, issuer) },
            resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
            expectedResource: resource,
        });
        const document = oauthMetadataResponse(web,
            { oauthMetadata, resourceServerUrl: resource });
        const verdict = document ?? await gate(web);

        if (!(verdict instanceof Response))
            return true;
        await answer(response, verdict);
        return false;
    };
}
