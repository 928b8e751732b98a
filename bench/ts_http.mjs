// ts_http.mjs - the echo of the TypeScript SDK's server over HTTP, which npm brings to
// build/bench. Both eras: modern by its handler, legacy with sessions, and JSON answers
// in both, which are its fastest.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const require = createRequire(new URL('../build/bench/', import.meta.url))
const { createMcpHandler, McpServer } = require('@modelcontextprotocol/server')
const { NodeStreamableHTTPServerTransport, toNodeHandler } =
    require('@modelcontextprotocol/node')
const { z } = require('zod')

function make() {
    const server = new McpServer({ name: 'ts-http', version: '1.0' })

    server.registerTool('echo',
        { description: 'Say it back', inputSchema: z.object({ text: z.string() }) },
        ({ text }) => ({ content: [{ type: 'text', text }] }))
    return server
}

const modern = toNodeHandler(createMcpHandler(make, { legacy: 'reject' }))
const sessions = new Map()

async function open() {
    const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: id => sessions.set(id, transport),
    })

    await make().connect(transport)
    return transport
}

async function legacy(request, response) {
    const session = request.headers['mcp-session-id']

    await (sessions.get(session) ?? await open()).handleRequest(request, response)
}

const server = createServer((request, response) =>
    request.headers['mcp-protocol-version'] === '2026-07-28'
        ? modern(request, response) : legacy(request, response))

server.listen(0, '127.0.0.1', () =>
    console.log(`http://127.0.0.1:${server.address().port}/mcp`))
