/** Reads the body of a request, bounded. */
import type { IncomingMessage } from 'node:http'
import { WebhookError } from '../errors.ts'

/** Told of every piece; throws what to refuse the request with where it is too much together with what else is kept. After that,
 * nothing more of the body is kept. */
type Keep = (count: number) => void

/**
 * What is too much is refused as soon as that is known. The rest of it is read all the same, and forgotten: so the client,
 * which may first send and then listen, hears the answer; how long it may go on is limited by listener.ts.
 */
export function readBody(request: IncomingMessage, mostBytes: number, keep: Keep): Promise<Buffer> {
  const tooLarge = () => new WebhookError(413, `the body is larger than ${mostBytes} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const refuse = (error: unknown) => {
      request.off('data', take).resume()
      chunks.length = 0
      reject(error)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > mostBytes) return refuse(tooLarge())
      try {
        keep(chunk.length)
      } catch (error) {
        return refuse(error)
      }
      chunks.push(chunk)
    }
    request.on('data', take)
    request.on('end', () => {
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
      // The listeners live for as long as the request, and must not keep the pieces for so long.
      chunks.length = 0
    })
    // Whoever hangs up is noticed where the answer is sent.
    request.on('error', reject)
  })
}
