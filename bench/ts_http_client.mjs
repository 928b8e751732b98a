// ts_http_client.mjs - the TypeScript SDK's client over HTTP, which npm brings to
// build/bench. Speaks as http_caller.c does, as far as `calls` goes.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const require = createRequire(new URL('../build/bench/', import.meta.url))
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client')
const TEXT = 'the quick brown fox jumps over the lazy dog'
const [url, era] = process.argv.slice(2)

const client = new Client({ name: 'ts-http-client', version: '1.0' }, {
    versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
})

async function lane(until) {
    let calls = 0

    do {
        const { content } = await client.callTool({ name: 'echo',
            arguments: { text: TEXT } })

        if (content[0].text !== TEXT)
            process.exit(1)
        calls++
    } while (performance.now() < until)
    return calls
}

await client.connect(new StreamableHTTPClientTransport(new URL(url)))
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
    const [, lanes, us] = line.split(' ').map(Number)
    const until = performance.now() + us / 1000
    const counts = await Promise.all(Array.from({ length: lanes }, () => lane(until)))

    console.log(counts.reduce((sum, count) => sum + count, 0))
}
process.exit(0)
