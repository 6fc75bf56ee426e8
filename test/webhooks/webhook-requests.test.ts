/** Requests to a webhook server and their responses. */
import { KopfError, WebhookError } from 'kopf'
import { type WebhookFn, WebhookServer } from 'kopf/webhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call, post, reviewOf, type Serving, serve } from './webhook-support.ts'

/** The arguments of the last call of the function. */
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

/** Replaces the response of the function during `act`. */
async function answering(once: WebhookFn, act: () => Promise<void>): Promise<void> {
  const before = answer
  answer = once
  try {
    await act()
  } finally {
    answer = before
  }
}

test('the URL of a webhook server has no slash at the end', () => {
  expect(serving.url.href).toMatch(/^https:\/\/localhost:\d+\/hooks$/)
})

describe('webhook requests', () => {
  test('a webhook request is passed to the function with the handler id and the headers', async () => {
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

  test('a webhook request without a path has an empty handler id', async () => {
    await post(serving, reviewOf(), { path: '/' })
    expect(seen?.webhook).toBe('')
    await post(serving, reviewOf(), { path: '' })
    expect(seen?.webhook).toBe('')
  })

  test('a webhook request has plain headers, even if they are repeated', async () => {
    const headers = { 'set-cookie': ['a=1', 'b=2'], 'x-many': ['1', '2'] } as never
    expect((await post(serving, reviewOf(), { headers })).status).toBe(200)
    expect(seen?.headers).toMatchObject({ 'set-cookie': 'a=1, b=2', 'x-many': '1, 2' })
  })

  test('a webhook request needs no content type', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await post(serving, reviewOf(), { headers })).status).toBe(200)
  })

  test('a webhook request and its response keep large integers', async () => {
    await answering(
      async (review) => review as object,
      async () => {
        const text = '{"a":9223372036854775807}'
        expect((await post(serving, text)).text).toBe(text)
      },
    )
  })

  test('a webhook request with keys such as __proto__ is read as plain data', async () => {
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

  test('a webhook request with two objects of three megabytes is accepted', async () => {
    const object = { data: { blob: 'x'.repeat(3 * 1024 * 1024) } }
    expect((await post(serving, reviewOf(object, { oldObject: object }))).status).toBe(200)
    expect(seen?.review).toEqual(reviewOf(object, { oldObject: object }))
  })

  test('a webhook request of any depth is read', async () => {
    const depth = 10_000
    expect((await post(serving, '['.repeat(depth) + ']'.repeat(depth))).status).toBe(200)
  })
})

describe('refused webhook requests', () => {
  test.each([
    ['another method', 405, { method: 'GET' }, ''],
    ['another method with a body', 405, { method: 'PUT' }, reviewOf()],
    ['an invalid encoding of its path', 400, { path: '/%ff' }, reviewOf()],
  ])('a webhook request with %s is refused', async (_, status, options, body) => {
    const reply = await post(serving, body, options)
    expect(reply.status).toBe(status)
    expect(JSON.parse(reply.text)).toMatchObject({ kind: 'Status', status: 'Failure', code: status })
    expect(reply.headers['allow']).toBe(status === 405 ? 'POST' : undefined)
  })

  test('a webhook request to another path is refused', async () => {
    const { status } = await post({ ...serving, url: new URL(serving.url.origin) }, reviewOf())
    expect(status).toBe(404)
  })

  test('a webhook request with more levels than an API server sends is refused', async () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`
    const { status, text } = await post(serving, nested(10_002))
    expect(status).toBe(400)
    expect(JSON.parse(text).message).toBe('the body has more than 10002 levels, which no API server sends')
    expect((await post(serving, nested(10_001))).status).toBe(200)
  })

  test.each(['', '{', 'hello', '{"a":1}{"b":2}', '\u0000'])(
    'a webhook request with the invalid JSON %j is refused',
    async (body) => {
      const { status, text } = await post(serving, body)
      expect(status).toBe(400)
      expect(JSON.parse(text).message).toBe('the body is not JSON')
    },
  )

  test('a webhook request of nine megabytes is refused before its body is sent', async () => {
    const megabytes = 9 * 1024 * 1024
    const headers = { 'content-length': String(megabytes) }
    // Only the head is sent, and the response arrives all the same.
    const { status, text } = await call(serving, { headers }, (request) => request.flushHeaders())
    expect(status).toBe(413)
    expect(JSON.parse(text).message).toContain('6553600')
  })

  test('a webhook request of nine megabytes with an unknown length is refused, and the client gets the response', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x')
    const reply = await call(serving, { headers: { 'transfer-encoding': 'chunked' } }, (request) => {
      for (let count = 0; count < 9; count += 1) request.write(piece)
      request.end()
    })
    expect(reply.status).toBe(413)
  })
})

describe('failing webhook functions', () => {
  test('a WebhookError is answered with its status and its message', async () => {
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
    ['a value that is not an error', () => Promise.reject(null)],
    ['an invalid status', () => Promise.reject(new WebhookError(42, 'canary-of-an-error'))],
    [
      'a synchronous error',
      () => {
        throw new Error('canary-of-an-error')
      },
    ],
    [
      'a response that cannot be written',
      async () => {
        const circle: Record<string, unknown> = {}
        circle['self'] = circle
        return circle
      },
    ],
  ])('a webhook function that fails with %s is answered with 500 and without details', async (_, failing) => {
    await answering(failing, async () => {
      const { status, text } = await post(serving, reviewOf())
      expect({ status, message: JSON.parse(text).message }).toEqual({ status: 500, message: 'internal error' })
    })
    expect((await post(serving, reviewOf())).status).toBe(200)
  })
})

test('a webhook server serves plain HTTP with `insecure`', async () => {
  await using plain = await serve(new WebhookServer({ insecure: true, addr: '127.0.0.1' }), fn)
  expect(plain.configs).toEqual([{ url: `http://127.0.0.1:${plain.url.port}` }])
  expect((await post(plain, reviewOf(), { path: '/a/b' })).status).toBe(200)
  expect(seen?.webhook).toBe('a/b')
})

test('a webhook server logs no secrets', async () => {
  await using talkative = await serve(new WebhookServer(), async () => ({}))
  const headers = { authorization: 'Bearer canary-1', 'x-canary-2': 'canary-3' }
  for (const body of [{ password: 'canary-4' }, 'canary-5 is not JSON', `"canary-6`]) {
    await post(talkative, body, { headers, path: '/canary-7?timeout=1s&canary-8' })
    await post(talkative, body, { headers, method: 'PUT', path: '/canary-9' })
    await post(talkative, body, { headers, path: '/canary-%ff' })
  }
  const refused = await post(talkative, 'canary-5 is not JSON', { headers })
  expect(refused.text).not.toContain('canary')
  expect(talkative.logs.join('')).toContain('rejected with 400')
  expect(talkative.logs.join('')).not.toContain('canary')
})
