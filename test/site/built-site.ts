/** The site that `npm run docs` has built, and a static file server for it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'

export const folder: string = join('docs', '.vitepress', 'dist')

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** The paths of all pages, e.g. `guide/filters.html`. */
export function listHtml(): string[] {
  if (!existsSync(folder)) throw new Error('Cannot look at the site: it is not built; run `npm run docs` before')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.html')).sort()
}

export async function serveSite(): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const path = decodeURIComponent(pathname).replace(/\/$/, '/index.html')
    const found = existsSync(join(folder, path))
    response.writeHead(found ? 200 : 404, { 'content-type': types[found ? extname(path) : '.html'] ?? 'text/plain' })
    response.end(readFileSync(join(folder, found ? path : '404.html')))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
