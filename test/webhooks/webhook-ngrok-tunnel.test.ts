/** `WebhookNgrokTunnel` with a program that imitates ngrok: a real child process and a real local server. */
import { fileURLToPath } from 'node:url'
import { type WebhookContext, WebhookNgrokTunnel, type WebhookNgrokTunnelOptions } from 'kopf/webhooks'
import { afterEach, describe, expect, test } from 'vitest'
import { SkippingClock } from '../../src/testing/skipping-clock.ts'
import { nextTurn, systemClock } from '../../src/util/async/clock.ts'
import { createLogger, createLogSink } from '../../src/util/log/log.ts'

const binary = fileURLToPath(new URL('./ngrok-stand-in.mjs', import.meta.url))
const token = '2canary_token'

const controllers: AbortController[] = []
const endings: Array<Promise<unknown>> = []

afterEach(async () => {
  for (const controller of controllers.splice(0)) controller.abort()
  await Promise.allSettled(endings.splice(0))
})

interface Tunnel {
  readonly urls: string[]
  readonly logs: string[]
  readonly ended: Promise<void>
  stop(): void
}

function open(options: WebhookNgrokTunnelOptions, clock: WebhookContext['clock'] = systemClock): Tunnel {
  const controller = new AbortController()
  controllers.push(controller)
  const urls: string[] = []
  const logs: string[] = []
  const sink = createLogSink({ format: 'plain', debug: true, write: (line) => logs.push(line) })
  const context: WebhookContext = {
    signal: controller.signal,
    logger: createLogger(sink, 'kopf.webhooks'),
    clock,
    client: undefined as never,
    namespace: undefined,
    readSigns: () => Promise.reject(new Error('nobody should ask')),
  }
  const serve = async () => {
    const server = new WebhookNgrokTunnel({ binary, ...options })
    for await (const { url, ...others } of server.serve(async (review) => ({ review }), context)) {
      expect(others).toEqual({})
      urls.push(url!)
    }
  }
  const ended = serve()
  endings.push(ended)
  return { urls, logs, ended, stop: () => controller.abort() }
}

async function until(isSo: () => boolean): Promise<void> {
  const endMs = Date.now() + 20_000
  while (!isSo()) {
    if (Date.now() > endMs) throw new Error(`Never came true: ${isSo}`)
    await nextTurn()
  }
}

/** Decodes the facts that the imitation of ngrok puts into its URL. */
function factsOf(url: string): { pid: number; port: number; tokenLength: number } {
  const [, pid, port, tokenLength] = /^https:\/\/p(\d+)-t(\d+)-(\d+)\./.exec(url)!
  return { pid: Number(pid), port: Number(port), tokenLength: Number(tokenLength) }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('the URL of an ngrok tunnel has no CA bundle and leads to a plain local server', async () => {
  const { urls } = open({ path: 'secret-word' })
  await until(() => urls.length === 1)
  expect(urls[0]).toMatch(/^https:.*\.ngrok-free\.app\/secret-word$/)
  const { port } = factsOf(urls[0]!)
  const answer = await fetch(`http://127.0.0.1:${port}/secret-word/some-id`, { method: 'POST', body: '{"x":1}' })
  expect(await answer.json()).toEqual({ review: { x: 1 } })
})

test('the ngrok token is passed where other users cannot read it', async () => {
  const { urls, logs } = open({ token, region: 'eu' })
  await until(() => urls.length === 1)
  expect(factsOf(urls[0]!).tokenLength).toBe(token.length)
  expect(logs.join('')).not.toContain(token)
})

test('the ngrok program and the local server end with the operator', async () => {
  const { urls, ended, stop } = open({})
  await until(() => urls.length === 1)
  const { pid, port } = factsOf(urls[0]!)
  expect(isAlive(pid)).toBe(true)
  stop()
  await ended
  expect(isAlive(pid)).toBe(false)
  await expect(fetch(`http://127.0.0.1:${port}/`, { method: 'POST' })).rejects.toThrow()
})

test('an ngrok program that ignores its stop is killed', async () => {
  const { urls, ended, stop } = open({ region: 'stubborn' })
  await until(() => urls.length === 1)
  stop()
  await ended
  expect(isAlive(factsOf(urls[0]!).pid)).toBe(false)
})

test('an ngrok program that dies is restarted, and the new URL is yielded', async () => {
  const { urls, logs } = open({})
  await until(() => urls.length === 1)
  process.kill(factsOf(urls[0]!).pid, 'SIGKILL')
  await until(() => urls.length === 2)
  expect(factsOf(urls[1]!).pid).not.toBe(factsOf(urls[0]!).pid)
  expect(factsOf(urls[1]!).port).toBe(factsOf(urls[0]!).port)
  expect(logs.join('')).toContain('is restarted')
})

describe('errors of ngrok tunnels', () => {
  test('an ngrok tunnel without the program fails with advice', async () => {
    const { ended } = open({ binary: '/nowhere/ngrok' })
    await expect(ended).rejects.toMatchObject({
      code: 'KOPF_NGROK',
      message: expect.stringMatching(/no program "\/nowhere\/ngrok"; install ngrok 3, or give its path as "binary"/),
    })
  })

  test('an ngrok tunnel with a file that is not executable fails with advice', async () => {
    const { ended } = open({ binary: fileURLToPath(import.meta.url) })
    await expect(ended).rejects.toMatchObject({ code: 'KOPF_NGROK', message: expect.stringContaining('"binary"') })
  })

  test('an ngrok tunnel that ngrok refuses fails with its message, without the token', async () => {
    const { ended, logs } = open({ region: 'unauthorized', token })
    const failure: Error = await ended.then(
      () => new Error('it has not failed'),
      (error: Error) => error,
    )
    expect(failure).toMatchObject({ code: 'KOPF_NGROK' })
    expect(failure.message).toContain('ERR_NGROK_107')
    expect(`${failure.message}${failure.stack}${logs.join('')}`).not.toContain(token)
  })

  test('an ngrok tunnel that is not opened within half a minute fails', async () => {
    const clock = new SkippingClock()
    const { ended } = open({ region: 'mute' }, clock)
    const failing = expect(ended).rejects.toThrow('no tunnel was opened within 30 seconds')
    await until(() => clock.sleeping > 0)
    clock.skip(clock.now() + 30_000)
    await failing
  })
})

test.each([
  [{ tokn: 'x' }, 'did you mean "token"'],
  [{ port: -1 }, '"port" must be'],
  [{ path: 'a b' }, '"path" must be'],
])('the ngrok tunnel options %j are refused', (options, words) => {
  expect(() => new WebhookNgrokTunnel(options as object)).toThrow(words)
})
