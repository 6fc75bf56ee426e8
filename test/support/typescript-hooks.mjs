/** The module hooks of typescript-in-threads.mjs. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { threadId } from 'node:worker_threads'

const cache = fileURLToPath(new URL('../../.vitest/threads/', import.meta.url))

export async function load(url, context, nextLoad) {
  const { protocol, pathname, href } = new URL(url)
  if (protocol !== 'file:' || !pathname.endsWith('.ts')) return nextLoad(url, context)
  return { format: 'module', shortCircuit: true, source: await compile(href) }
}

async function compile(href) {
  const text = readFileSync(fileURLToPath(href))
  const file = join(cache, `${createHash('sha256').update(href).update(text).digest('hex')}.js`)
  try {
    return readFileSync(file, 'utf8')
  } catch {
    const { transform } = await import('esbuild')
    const options = { loader: 'ts', target: 'node20', sourcemap: 'inline', sourcefile: href, keepNames: true }
    const { code } = await transform(text.toString('utf8'), options)
    mkdirSync(cache, { recursive: true })
    // Threads may write the same file at the same time.
    const part = `${file}.${process.pid}-${threadId}`
    writeFileSync(part, code)
    renameSync(part, file)
    return code
  }
}
