// ts_server.mjs - the echo of the TypeScript SDK's server, which npm brings to
// build/bench. It serves both eras: what the client says first decides.
import { createRequire } from 'node:module'

const require = createRequire(new URL('../build/bench/', import.meta.url))
const { McpServer } = require('@modelcontextprotocol/server')
const { serveStdio } = require('@modelcontextprotocol/server/stdio')
const { z } = require('zod')

serveStdio(() => {
    const server = new McpServer({ name: 'ts-server', version: '1.0' })

    server.registerTool('echo',
        { description: 'Say it back', inputSchema: z.object({ text: z.string() }) },
        ({ text }) => ({ content: [{ type: 'text', text }] }))
    return server
})
