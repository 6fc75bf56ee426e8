/** Probe handlers and the response of the liveness endpoint. */
import { Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { gate } from '../support/recording.ts'
import { anywhere, askLab } from './activity-support.ts'

const lab = useLab()

function operator(): Operator {
  const kopf = new Operator()
  kopf.on.event(lab.widgets, () => {})
  return kopf
}

const start = (kopf: Operator) => lab.start(kopf, { livenessEndpoint: anywhere })

test('the liveness endpoint answers 200 with an empty object if there are no probes', async () => {
  await start(operator())
  expect(await askLab(lab)).toMatchObject({ status: 200, text: '{}' })
})

test('the results of probes are shown by id, without probes that return nothing', async () => {
  const kopf = operator()
  kopf.on.probe({ id: 'now' }, () => new Date(0))
  kopf.on.probe({ id: 'random' }, async () => 4)
  kopf.on.probe({ id: 'nested' }, ({ param }) => ({ list: [1, null, 'x'], param }))
  kopf.on.probe({ id: 'none' }, () => {})
  kopf.on.probe({ id: 'null' }, () => null)
  kopf.on.probe({ id: 'false' }, () => false)
  await start(kopf)
  const { status, headers, body } = await askLab(lab)
  expect(status).toBe(200)
  expect(headers['content-type']).toBe('application/json')
  const nested = { list: [1, null, 'x'] }
  expect(body).toEqual({ now: '1970-01-01T00:00:00.000Z', random: 4, nested, false: false })
})

test('a probe is called for a request to the liveness endpoint only', async () => {
  const kopf = operator()
  let calls = 0
  kopf.on.probe({ id: 'calls' }, () => (calls += 1))
  await start(kopf)
  await askLab(lab, '/readyz')
  await askLab(lab, '/')
  expect(calls).toBe(0)
  await askLab(lab, '/healthz', { method: 'HEAD' })
  expect(calls).toBe(1)
})

test.skipIf(lab.isReal)('results of probes are cached for ten seconds', async () => {
  const kopf = operator()
  let calls = 0
  kopf.on.probe({ id: 'calls' }, () => (calls += 1))
  await start(kopf)
  const texts: string[] = []
  for (const seconds of [0, 0, 9.9, 0.1, 9, 1]) {
    await lab.elapse(seconds)
    texts.push((await askLab(lab)).text)
  }
  expect(texts).toEqual([1, 1, 1, 2, 2, 3].map((count) => `{"calls":${count}}`))
})

test('concurrent health requests share one call of a probe', async () => {
  const kopf = operator()
  const { opened, open } = gate()
  let calls = 0
  kopf.on.probe({ id: 'slow' }, async () => {
    calls += 1
    await opened
    return calls
  })
  await start(kopf)
  const asking = [askLab(lab), askLab(lab), askLab(lab)]
  await expect.poll(() => calls).toBe(1)
  asking.push(askLab(lab))
  open()
  expect((await Promise.all(asking)).map(({ text }) => text)).toEqual(Array(4).fill('{"slow":1}'))
})

test('a failed probe is shown by the type of its error without its message, and is not cached', async () => {
  const kopf = operator()
  let calls = 0
  kopf.on.probe({ id: 'fine' }, () => 'well')
  kopf.on.probe({ id: 'by-default' }, () => {
    calls += 1
    throw new RangeError('the password is sesame')
  })
  kopf.on.probe({ id: 'for-good' }, () => {
    throw new PermanentError('sesame')
  })
  kopf.on.probe({ id: 'for-now' }, () => {
    throw new TemporaryError('sesame', { delay: 60 })
  })
  kopf.on.probe({ id: 'with-limit', retries: 1 }, () => {
    throw new SyntaxError('sesame')
  })
  kopf.on.probe({ id: 'thrown' }, () => {
    throw 'sesame'
  })
  await start(kopf)
  const { status, body, text } = await askLab(lab)
  expect(status).toBe(500)
  expect(text).not.toContain('sesame')
  expect(body).toEqual({
    fine: 'well',
    'by-default': { failed: 'RangeError' },
    'for-good': { failed: 'PermanentError' },
    'for-now': { failed: 'TemporaryError' },
    'with-limit': { failed: 'SyntaxError' },
    thrown: { failed: 'string' },
  })
  expect((await askLab(lab)).status).toBe(500)
  expect(calls).toBe(2)
})

test('a probe with errors ignored is left out of the response if it fails', async () => {
  const kopf = operator()
  kopf.on.probe({ id: 'fine' }, () => 'well')
  kopf.on.probe({ id: 'whatever', errors: 'ignored' }, () => {
    throw new Error('never mind')
  })
  await start(kopf)
  expect(await askLab(lab)).toMatchObject({ status: 200, text: '{"fine":"well"}' })
})

test('a probe is retried while the delays fit into a few seconds', async () => {
  const kopf = operator()
  const attempts: number[] = []
  kopf.on.probe({ id: 'flaky' }, ({ retry }) => {
    attempts.push(retry)
    if (retry < 2) throw new TemporaryError('not yet', { delay: 0.05 })
    return retry
  })
  await start(kopf)
  let answer: Awaited<ReturnType<typeof askLab>> | undefined
  void askLab(lab).then((got) => (answer = got))
  await expect.poll(() => attempts.length).toBeGreaterThan(0)
  await lab.until(() => attempts.length > 2)
  await expect.poll(() => answer).toMatchObject({ status: 200, text: '{"flaky":2}' })
  expect(attempts).toEqual([0, 1, 2])
})

test.skipIf(lab.isReal)('a probe that times out has failed, and is not called again before it returns', async () => {
  const kopf = operator()
  const { opened, open } = gate()
  let calls = 0
  let told: AbortSignal | undefined
  kopf.on.probe({ id: 'fine' }, () => 'well')
  kopf.on.probe({ id: 'lost' }, async ({ signal }) => {
    calls += 1
    told = signal
    await opened
    return 'back'
  })
  await start(kopf)
  const asking = askLab(lab)
  await expect.poll(() => calls).toBe(1)
  await lab.elapse(5)
  const body = { fine: 'well', lost: { failed: 'HandlerTimeoutError' } }
  expect(await asking).toMatchObject({ status: 500, body })
  expect(told!.aborted).toBe(true)
  expect(await askLab(lab)).toMatchObject({ status: 500, body })
  expect(calls).toBe(1)
  open()
  await expect.poll(async () => (await askLab(lab)).body).toEqual({ fine: 'well', lost: 'back' })
})

const loop: unknown[] = []
loop.push(loop)

test.each([
  ['a function', () => () => 'sesame', 'JSON cannot hold a function'],
  ['an object with a function in it', () => ({ deep: [() => 'sesame'] }), 'JSON cannot hold a function'],
  ['a bigint', () => 2n ** 64n, 'BigInt'],
  ['NaN', () => ({ ratio: Number.NaN }), 'JSON cannot hold the number NaN'],
  ['a circular object', () => loop, 'JSON cannot hold an object that contains itself'],
])('a probe that returns %s counts as failed, since the value is not JSON', async (_, result, why) => {
  const kopf = operator()
  kopf.on.probe({ id: 'odd' }, result)
  await start(kopf)
  expect(await askLab(lab)).toMatchObject({ status: 500, body: { odd: { failed: 'TypeError' } } })
  expect(lab.logs.find((line) => line.startsWith("Activity 'odd' failed"))).toContain(why)
})
