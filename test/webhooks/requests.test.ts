/** What is asked of a webhook server, and what it answers. */
import { KopfError, WebhookError } from 'kopf'
import { type WebhookFn, WebhookServer } from 'kopf/webhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call, post, reviewOf, type Serving, serve } from './support.ts'

/** What the function was last called with. */
let seen:
  | { review: unknown; webhook?: string; headers?: Readonly<Record<string, string>>; sslpeer?: unknown }
  | undefined
let answer: WebhookFn

const fn: WebhookFn = (review, info) => {
  seen = { review, ...info }
  return answer(review, info)
}

let serving: Serving

beforeAll(async () => {
  serving = await serve(new WebhookServer({ path: '/hooks/' }), fn)
  answer = async () => ({ response: { allowed: true } })
})

afterAll(() => serving.stop())

/** With another answer than that all is allowed, once. */
async function answering(once: WebhookFn, act: () => Promise<void>): Promise<void> {
  const before = answer
  answer = once
  try {
    await act()
  } finally {
    answer = before
  }
}

test('it says where it is, without a slash at the end', () => {
  expect(serving.url.href).toMatch(/^https:\/\/localhost:\d+\/hooks$/)
})

describe('a review', () => {
  test('goes to the function as it was posted, with who is meant and the headers', async () => {
    const review = reviewOf({ spec: { a: [1, null, 'ü'] } })
    const { status, headers, text } = await post(serving, review, {
      path: '/a%20b/c?timeout=5s',
      headers: { 'X-Token': 'one', authorization: 'Bearer two' },
    })
    expect({ status, type: headers['content-type'], answer: JSON.parse(text) }).toEqual({
      status: 200,
      type: 'application/json',
      answer: { response: { allowed: true } },
    })
    expect(seen).toMatchObject({ review, webhook: 'a b/c' })
    expect(seen?.headers).toMatchObject({ 'x-token': 'one', authorization: 'Bearer two' })
    expect(seen?.sslpeer).toBeUndefined()
  })

  test('of no handler in particular has an empty id', async () => {
    await post(serving, reviewOf(), { path: '/' })
    expect(seen?.webhook).toBe('')
    await post(serving, reviewOf(), { path: '' })
    expect(seen?.webhook).toBe('')
  })

  test('comes with plain headers, however often they are there', async () => {
    const headers = { 'set-cookie': ['a=1', 'b=2'], 'x-many': ['1', '2'] } as never
    expect((await post(serving, reviewOf(), { headers })).status).toBe(200)
    expect(seen?.headers).toMatchObject({ 'set-cookie': 'a=1, b=2', 'x-many': '1, 2' })
  })

  test('need not say what type it is', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await post(serving, reviewOf(), { headers })).status).toBe(200)
  })

  test('keeps integers beyond doubles, both ways', async () => {
    await answering(
      async (review) => review as object,
      async () => {
        const text = '{"a":9223372036854775807}'
        expect((await post(serving, text)).text).toBe(text)
      },
    )
  })

  test('with keys that mean something to JavaScript is but a review', async () => {
    const text = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
    await answering(
      async (review) => review as object,
      async () => {
        expect((await post(serving, text)).text).toBe(text)
      },
    )
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(Object.keys(seen?.review as object)).toEqual(['__proto__', 'constructor'])
  })

  test('of two objects of three megabytes is no problem', async () => {
    const object = { data: { blob: 'x'.repeat(3 * 1024 * 1024) } }
    expect((await post(serving, reviewOf(object, { oldObject: object }))).status).toBe(200)
    expect(seen?.review).toEqual(reviewOf(object, { oldObject: object }))
  })

  test('of any depth is read', async () => {
    const depth = 10_000
    expect((await post(serving, '['.repeat(depth) + ']'.repeat(depth))).status).toBe(200)
  })
})

describe('refused', () => {
  test.each([
    ['another method', 405, { method: 'GET' }, ''],
    ['another method with a body', 405, { method: 'PUT' }, reviewOf()],
    ['a path that is badly encoded', 400, { path: '/%ff' }, reviewOf()],
  ])('%s', async (_, status, options, body) => {
    const reply = await post(serving, body, options)
    expect(reply.status).toBe(status)
    expect(JSON.parse(reply.text)).toMatchObject({ kind: 'Status', status: 'Failure', code: status })
    expect(reply.headers['allow']).toBe(status === 405 ? 'POST' : undefined)
  })

  test('another path', async () => {
    const { status } = await post({ ...serving, url: new URL(serving.url.origin) }, reviewOf())
    expect(status).toBe(404)
  })

  test('a body with more levels than an API server sends', async () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`
    const { status, text } = await post(serving, nested(10_002))
    expect(status).toBe(400)
    expect(JSON.parse(text).message).toBe('the body has more than 10002 levels, which no API server sends')
    expect((await post(serving, nested(10_001))).status).toBe(200)
  })

  test.each(['', '{', 'hello', '{"a":1}{"b":2}', '\u0000'])('a body that is not JSON: %j', async (body) => {
    const { status, text } = await post(serving, body)
    expect(status).toBe(400)
    expect(JSON.parse(text).message).toBe('the body is not JSON')
  })

  test('nine megabytes, before they are sent', async () => {
    const megabytes = 9 * 1024 * 1024
    const headers = { 'content-length': String(megabytes) }
    // Only the head is written: the answer comes all the same.
    const { status, text } = await call(serving, { headers }, (request) => request.flushHeaders())
    expect(status).toBe(413)
    expect(JSON.parse(text).message).toContain('6553600')
  })

  test('nine megabytes of unknown length, and whoever sends them hears of it', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x')
    const reply = await call(serving, { headers: { 'transfer-encoding': 'chunked' } }, (request) => {
      for (let count = 0; count < 9; count += 1) request.write(piece)
      request.end()
    })
    expect(reply.status).toBe(413)
  })
})

describe('when the function fails', () => {
  test('a WebhookError is answered with its status and its words', async () => {
    const refuse: WebhookFn = async () => {
      throw new WebhookError(409, 'which of the two?')
    }
    await answering(refuse, async () => {
      const { status, text } = await post(serving, reviewOf())
      expect({ status, message: JSON.parse(text).message }).toEqual({ status: 409, message: 'which of the two?' })
    })
  })

  test.each([
    ['any other error', () => Promise.reject(new KopfError('KOPF_SECRET', 'canary-of-an-error'))],
    ['what is no error', () => Promise.reject(null)],
    ['a status that there is not', () => Promise.reject(new WebhookError(42, 'canary-of-an-error'))],
    [
      'one that is thrown at once',
      () => {
        throw new Error('canary-of-an-error')
      },
    ],
    [
      'an answer that cannot be written',
      async () => {
        const circle: Record<string, unknown> = {}
        circle['self'] = circle
        return circle
      },
    ],
  ])('%s is 500, and nothing more is told', async (_, failing) => {
    await answering(failing, async () => {
      const { status, text } = await post(serving, reviewOf())
      expect({ status, message: JSON.parse(text).message }).toEqual({ status: 500, message: 'internal error' })
    })
    expect((await post(serving, reviewOf())).status).toBe(200)
  })
})

test('without TLS, when it is told so', async () => {
  await using plain = await serve(new WebhookServer({ insecure: true, addr: '127.0.0.1' }), fn)
  expect(plain.configs).toEqual([{ url: `http://127.0.0.1:${plain.url.port}` }])
  expect((await post(plain, reviewOf(), { path: '/a/b' })).status).toBe(200)
  expect(seen?.webhook).toBe('a/b')
})

test('no secret gets into the logs', async () => {
  await using talkative = await serve(new WebhookServer(), async () => ({}))
  const headers = { authorization: 'Bearer canary-1', 'x-canary-2': 'canary-3' }
  for (const body of [{ password: 'canary-4' }, 'canary-5 is not JSON', `"canary-6`]) {
    await post(talkative, body, { headers, path: '/canary-7?timeout=1s&canary-8' })
    await post(talkative, body, { headers, method: 'PUT', path: '/canary-9' })
    await post(talkative, body, { headers, path: '/canary-%ff' })
  }
  const refused = await post(talkative, 'canary-5 is not JSON', { headers })
  expect(refused.text).not.toContain('canary')
  expect(talkative.logs.join('')).toContain('refused with 400')
  expect(talkative.logs.join('')).not.toContain('canary')
})
