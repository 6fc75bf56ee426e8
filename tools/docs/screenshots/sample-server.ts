/** Serves the built page of the dashboard, and the sample views in the place of an operator. */
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { nowMs, sampleView } from './sample-views.ts'

/** The policy of the dashboard. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
}

export async function serveSamples(folder: string, port = 0): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((request, response) => answer(folder, request, response))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function answer(folder: string, request: IncomingMessage, response: ServerResponse): void {
  // The page corrects the difference between its clock and that of the operator.
  response.setHeader('date', new Date(nowMs).toUTCString())
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const session = { user: 'developer', csrf: 'x', expiresAtMs: Date.now() + 900_000 }
  const view = searchParams.get('view') ?? ''
  if (pathname === '/api/session') sendJson(response, session)
  else if (pathname === '/api/stream') sendStream(response, sampleView(view, searchParams))
  else sendFile(`${folder}/${pathname === '/' ? 'index.html' : pathname.slice(1)}.br`, response)
}

function sendFile(file: string, response: ServerResponse): void {
  if (!existsSync(file)) {
    response.writeHead(404).end()
    return
  }
  const contentType = types[file.split('.').at(-2)!]
  response.writeHead(200, {
    'content-type': contentType,
    'content-encoding': 'br',
    'content-security-policy': policy,
  })
  response.end(readFileSync(file))
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

/** One event, after which the stream stays open. */
function sendStream(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(`id: 1\nevent: view\ndata: ${JSON.stringify(value)}\n\n`)
}
