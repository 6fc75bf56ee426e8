/** The baseline: a bare node:https server that parses a review and answers it. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const { BENCH_PORT, BENCH_CERT, BENCH_KEY } = process.env as Record<string, string>

interface Review {
  readonly request: { readonly uid: string; readonly object: { readonly spec: { readonly size: number } } }
}

function answer(path: string, text: string): string {
  const { uid, object } = (JSON.parse(text) as Review).request
  const edits = [{ op: 'add', path: '/spec/checked', value: object.spec.size }]
  const patch = Buffer.from(JSON.stringify(edits)).toString('base64')
  const changes = path.startsWith('/mutate') ? { patchType: 'JSONPatch', patch } : {}
  const response = { uid, allowed: object.spec.size >= 0, ...changes }
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response })
}

createServer(
  { cert: readFileSync(BENCH_CERT!), key: readFileSync(BENCH_KEY!), keepAliveTimeout: 120_000 },
  (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = answer(request.url!, Buffer.concat(chunks).toString())
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      response.end(text)
    })
  },
).listen(Number(BENCH_PORT), '127.0.0.1')

const everyMs = 10
const delays = monitorEventLoopDelay({ resolution: everyMs })
delays.enable()

process.on('SIGUSR2', () => {
  console.log(`report ${JSON.stringify({ stallMs: Math.max(0, delays.max / 1e6 - everyMs) })}`)
  delays.reset()
})
process.on('SIGTERM', () => process.exit(0))
