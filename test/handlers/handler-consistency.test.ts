/** Change handlers never run on a state that is older than the operator's own last write. */
import { Operator, type RunOptions } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { Transport, TransportRequest, TransportResponse } from '../../src/util/transport.ts'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

/** Passes each watch line through a function, which may delay it, change it, or drop it by returning undefined. */
class WatchLines implements Transport {
  readonly #inner: Transport
  readonly #treat: (line: string) => Promise<string | undefined>
  readonly #request: (request: TransportRequest) => TransportRequest
  readonly #answer: (text: string) => string

  constructor(
    inner: Transport,
    treat: (line: string) => Promise<string | undefined>,
    request: (request: TransportRequest) => TransportRequest = (one) => one,
    answer: (text: string) => string = (text) => text,
  ) {
    this.#inner = inner
    this.#treat = treat
    this.#request = request
    this.#answer = answer
  }

  async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    const answer = await this.#inner.send(this.#request(request), signal)
    const isWatch = request.path.includes('watch=true')
    return { ...answer, body: isWatch ? this.#lines(answer.body) : this.#whole(answer.body) }
  }

  async *#whole(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const chunks: Uint8Array[] = []
    for await (const chunk of body) chunks.push(chunk)
    yield Buffer.from(this.#answer(Buffer.concat(chunks).toString()))
  }

  async *#lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let rest = ''
    for await (const chunk of body) {
      const lines = (rest + Buffer.from(chunk).toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const treated = await this.#treat(line)
        if (treated !== undefined) yield Buffer.from(`${this.#answer(treated)}\n`)
      }
    }
  }
}

/** Makes resource versions opaque, so that they cannot be compared, as on some API servers. */
function opaque(inner: Transport, treat: (line: string) => Promise<string | undefined>): Transport {
  const clear = (text: string) => text.replaceAll(/opaque-(\d+)/g, '$1')
  return new WatchLines(
    inner,
    treat,
    ({ body, path, ...rest }) => ({
      ...rest,
      path: clear(path),
      ...(body === undefined ? {} : { body: clear(Buffer.from(body as string).toString()) }),
    }),
    (text) => text.replaceAll(/"resourceVersion":"(\d+)"/g, '"resourceVersion":"opaque-$1"'),
  )
}

const slowly = (line: string) => lab.clock.sleep(lab.isReal ? 60 : 300).then(() => line)

/** Edits the object twice while its first update is being handled, and returns the handled states. */
async function handledStates(access: RunOptions): Promise<unknown[]> {
  const seen: unknown[] = []
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'u' }, async ({ spec, name }) => {
    seen.push(spec['n'])
    if (spec['n'] !== 2) return
    await lab.patch(name, { spec: { n: 3 } })
    await lab.patch(name, { spec: { n: 4 } })
  })
  await lab.start(kopf, access)
  await lab.create('one', { spec: { n: 1 } })
  await untilHandled(lab, 'one')
  await lab.elapse(1.5)
  await lab.patch('one', { spec: { n: 2 } })
  await lab.until(() => seen.includes(4))
  await untilHandled(lab, 'one')
  await lab.elapse(lab.isReal ? 1 : 30)
  return seen
}

describe('stale states', () => {
  test("a state older than the operator's own write is not handled if events are late", async () => {
    expect(await handledStates({ transport: new WatchLines(lab.record(), slowly) })).toEqual([2, 4])
  })

  test("a state older than the operator's own write is not handled if versions cannot be compared", async () => {
    expect(await handledStates({ transport: opaque(lab.record(), slowly) })).toEqual([2, 4])
  })
})

test('a stale state is handled after consistencyTimeout if the own write never arrives', async () => {
  const seen: [unknown, number][] = []
  const kopf = new Operator({ settings: { persistence: { consistencyTimeout: 1 } } })
  kopf.on.update(lab.widgets, { id: 'u' }, ({ spec }) => void seen.push([spec['n'], lab.clock.now()]))
  // The operator's own writes never arrive: all states with the handled configuration are dropped.
  let isDeaf = false
  const treat = async (line: string) =>
    isDeaf && line.includes('{\\"n\\":2}') && !line.includes('"n":3') ? undefined : line
  await lab.start(kopf, { transport: opaque(lab.record(), treat) })
  await lab.create('deaf', { spec: { n: 1 } })
  await untilHandled(lab, 'deaf')
  await lab.elapse(1.5)
  isDeaf = true
  await lab.patch('deaf', { spec: { n: 2 } })
  await untilHandled(lab, 'deaf')
  const writtenMs = lab.clock.now()
  await lab.patch('deaf', { spec: { n: 3 } })
  await lab.until(() => seen.length === 2)
  expect(seen.map(([n]) => n)).toEqual([2, 3])
  expect(seen[1]![1] - writtenMs).toBeGreaterThan(lab.isReal ? 300 : 900)
  expect(seen[1]![1] - writtenMs).toBeLessThan(lab.isReal ? 5000 : 1100)
  await untilHandled(lab, 'deaf')
})

test('no state is held back with a consistencyTimeout of zero', async () => {
  const seen: unknown[] = []
  const kopf = new Operator({ settings: { persistence: { consistencyTimeout: 0 } } })
  kopf.on.update(lab.widgets, { id: 'u' }, ({ spec }) => void seen.push(spec['n']))
  await lab.start(kopf, { transport: opaque(lab.record(), async (line) => line) })
  await lab.create('trusting', { spec: { n: 1 } })
  await untilHandled(lab, 'trusting')
  await lab.patch('trusting', { spec: { n: 2 } })
  await untilHandled(lab, 'trusting')
  await settle(lab)
  expect(seen).toEqual([2])
})
