/*
 * guarded.mjs - our server behind a guard, and who vouches for its clients
 *
 *     { url, issuer, counts(), stop() } = await guard(bin, { dpop })
 *
 * A client of a peer signs in there by itself: with a Provider of the TypeScript SDK, or by
 * the browser that browser() makes, for programs that open one.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, until } from './cases.mjs';
import { ownPort, serve, start } from './reach.mjs';

/* What a token is for is said before the server listens: so its port must be known. */
export async function guard(bin, { dpop = false, alg = [] } = {}) {
    const issuer = await start(`${bin}/test-issuer`,
        [...(dpop ? ['--dpop', '--nonce'] : []), ...alg]);
    const address = `127.0.0.1:${await ownPort()}`;
    const url = `http://${address}/mcp`;
    const server = await serve(`${bin}/probe-server`,
        ['--guard', issuer.url, url, ...(dpop ? ['--dpop'] : [])], address);

    assert.equal(server.url, url);
    return {
        url,
        issuer: issuer.url,
        counts: async () => (await fetch(`${issuer.url}/counts`)).json(),
        stop: async () => {
            const ends = await Promise.all([server.stop(), issuer.stop()]);

            return Math.max(...ends);
        },
    };
}

/* Who has no token is told where to get one. */
export async function expectChallenge({ url, issuer }) {
    const refused = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json',
            accept: 'application/json, text/event-stream' },
        body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
    const challenge = refused.headers.get('www-authenticate');
    const place = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];

    assert.equal(refused.status, 401);
    assert.ok(place, challenge);
    const metadata = await (await fetch(place)).json();

    assert.equal(metadata.resource, url);
    assert.deepEqual(metadata.authorization_servers, [issuer]);
}

/* Calls that are aborted, ten at a time, for so many resources has the server; then there
 * is nothing left of them. */
export async function expectNothingAfter(peer, rounds) {
    const stats = async () => (await peer.call('stats')).structuredContent;
    const calm = () => until(stats, s => s.live_handlers === 0 && s.pool_free === 10);
    const before = await calm();

    for (let round = 0; round < rounds; round++) {
        const controller = new AbortController();
        const options = { signal: controller.signal };
        const ends = Promise.allSettled(Array.from({ length: 10 },
            () => peer.call('hang', { seconds: 3600 }, options)));

        await until(stats, s => s.pool_free === 0);
        controller.abort('stop it');
        assert.ok((await ends).every(end => end.status === 'rejected'));
        assert.equal((await calm()).cancelled, before.cancelled + (round + 1) * 10);
    }
}

/* What a program's environment must have, so that it opens ours: a browser without a user,
 * who would only have said yes. */
export function browser(home) {
    const path = join(home, 'xdg-open');

    writeFileSync(path, `#!/bin/sh
exec '${process.execPath}' -e 'fetch(process.argv[1]).then(r => r.text())' "$1"
`, { mode: 0o755 });
    return { BROWSER: path, PATH: `${home}:${process.env.PATH}`, DISPLAY: '' };
}

/* What the SDK asks of who uses it (OAuthClientProvider): everything is kept here. */
export class Provider {
    redirectUrl = 'http://127.0.0.1:1/callback';

    constructor(dpop) {
        this.dpop = () => dpop;
    }

    get clientMetadata() {
        return {
            client_name: 'a peer',
            redirect_uris: [this.redirectUrl],
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
            token_endpoint_auth_method: 'none',
        };
    }

    clientInformation() {
        return this.client;
    }

    saveClientInformation(client) {
        this.client = client;
    }

    tokens() {
        return this.kept;
    }

    saveTokens(tokens) {
        this.kept = tokens;
    }

    saveCodeVerifier(verifier) {
        this.verifier = verifier;
    }

    codeVerifier() {
        return this.verifier;
    }

    discoveryState() {
        return this.discovered;
    }

    saveDiscoveryState(discovered) {
        this.discovered = discovered;
    }

    async redirectToAuthorization(url) {
        const page = await fetch(url, { redirect: 'manual' });

        this.redirect = new URL(page.headers.get('location')).searchParams;
    }
}
