import { ABSENT, Operator, PRESENT } from 'kopf'
import { describe, expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { type Body, useLab } from '../support/lab.ts'

const lab = useLab()
const lastHandled = 'kopf.zalando.org/last-handled-configuration'
const merge = 'application/merge-patch+json'

function isHandled({ metadata }: Body): boolean {
  return lastHandled in (metadata.annotations ?? {})
}

function named(prefix: string) {
  return ({ name }: { name: string }) => name.startsWith(prefix)
}

/** A valid object beside each malformed one, which must be handled normally. */
async function createGood(prefix: string): Promise<string> {
  const { metadata } = await lab.create(`${prefix}-good`, { spec: { good: true } })
  return metadata.name!
}

function linesAbout(name: string, text: string): string[] {
  return lab.logs.filter((line) => line.startsWith(`[${lab.namespace}/${name}]`) && line.includes(text))
}

describe('odd objects', () => {
  test('objects without a spec, or with a spec that is not an object, are handled', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { when: named('hollow') }, ({ name, spec, status, labels, annotations, old, diff }) => {
      seen.push([name, spec, status, labels, annotations, old, diff.length])
    })
    await lab.start(kopf)
    const bodies: Tree[] = [{}, { spec: {} }, { spec: null }, { spec: 7 }, { spec: [] }, { spec: 'text' }]
    for (const [index, fields] of bodies.entries()) await lab.create(`hollow-${index}`, fields)
    for (const index of bodies.keys()) await lab.untilObject(`hollow-${index}`, isHandled)
    expect(seen).toHaveLength(bodies.length)
    expect(seen[0]).toEqual(['hollow-0', {}, {}, {}, {}, undefined, 1])
  })

  test('objects with keys such as __proto__ and constructor are filtered, diffed and patched', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    const note = (what: string) => (args: unknown) => {
      const { name } = args as { name: string }
      seen.push(`${what} ${name}`)
    }
    const when = named('proto')
    kopf.on.create(
      lab.widgets,
      { id: 'label', when, labels: Object.fromEntries<typeof PRESENT>([['constructor', PRESENT]]) },
      note('label'),
    )
    kopf.on.create(
      lab.widgets,
      { id: 'no-label', when, labels: Object.fromEntries<typeof ABSENT>([['constructor', ABSENT]]) },
      note('no label'),
    )
    kopf.on.create(lab.widgets, { id: 'no-field', when, field: 'spec.toString' }, note('inherited'))
    kopf.on.create(lab.widgets, { id: 'field', when, field: 'spec.__proto__.polluted', value: 1 }, note('field'))
    kopf.on.update(lab.widgets, { when }, ({ diff, patch }) => {
      seen.push(...diff)
      Object.defineProperty(patch.status, '__proto__', { value: { polluted: 'status' }, enumerable: true })
    })
    await lab.start(kopf)
    const text = (name: string, rest: string) =>
      `{"apiVersion":"${lab.group}/v1","kind":"Widget","metadata":{"name":"${name}"${rest}}`
    const evil =
      ',"labels":{"constructor":"a"},"annotations":{"constructor":"b"}},"spec":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":2}}}'
    expect((await lab.call('POST', lab.path(), text('proto-evil', evil))).status).toBe(201)
    expect((await lab.call('POST', lab.path(), text('proto-plain', '},"spec":{}'))).status).toBe(201)
    const { metadata } = await lab.untilObject('proto-evil', isHandled)
    await lab.untilObject('proto-plain', isHandled)
    expect([...seen].sort()).toEqual(['field proto-evil', 'label proto-evil', 'no label proto-plain'])
    expect(metadata.annotations?.[lastHandled]).toContain('"__proto__":{"polluted":1}')
    seen.length = 0
    await lab.call('PATCH', lab.path('proto-evil'), '{"spec":{"__proto__":{"polluted":3}}}', merge)
    await lab.until(() => seen.length > 0)
    expect(seen).toEqual([['change', ['spec', '__proto__', 'polluted'], 1, 3]])
    await lab.until(async () => {
      return (await lab.call('GET', lab.path('proto-evil'))).text.includes('"__proto__":{"polluted":"status"}')
    })
    expect(({} as Tree)['polluted']).toBeUndefined()
  })

  test('keys such as __proto__ in the data of a ConfigMap are diffed', async () => {
    const diffs: unknown[] = []
    const path = `/api/v1/namespaces/${lab.namespace}/configmaps`
    const kopf = new Operator()
    kopf.on.update('configmaps', { when: named('proto') }, ({ diff }) => void diffs.push(...diff))
    await lab.start(kopf)
    await lab.call('POST', path, '{"metadata":{"name":"proto-map"},"data":{"__proto__":"a","constructor":"b"}}')
    await lab.until(async () => isHandled((await lab.call('GET', `${path}/proto-map`)).body))
    await lab.call('PATCH', `${path}/proto-map`, '{"data":{"__proto__":"c","constructor":null}}', merge)
    await lab.until(() => diffs.length > 0)
    expect(diffs).toEqual([
      ['remove', ['data', 'constructor'], 'b', undefined],
      ['change', ['data', '__proto__'], 'a', 'c'],
    ])
  })

  test('an object of 1.4 MB is handled', async () => {
    const sizes: number[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { when: named('huge') }, ({ spec, patch }) => {
      if (spec['text']) sizes.push((spec['text'] as string).length)
      patch.status['seen'] = true
    })
    kopf.on.update(lab.widgets, { when: named('huge') }, ({ spec }) => void sizes.push((spec['text'] as string).length))
    await lab.start(kopf)
    await lab.create('huge', { spec: { text: 'x'.repeat(1_400_000) } })
    await lab.untilObject(await createGood('huge'), isHandled)
    await lab.untilObject('huge', isHandled)
    await lab.patch('huge', { spec: { text: 'y'.repeat(1_400_001) } })
    await lab.until(() => sizes.length === 2)
    expect(sizes).toEqual([1_400_000, 1_400_001])
  })

  test('an object with a thousand levels is handled', async () => {
    const depths: number[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { when: named('deep') }, ({ spec, patch }) => {
      if (spec['good'] === undefined) patch.status['copy'] = spec['child']
    })
    kopf.on.update(lab.widgets, { when: named('deep') }, ({ diff }) => void depths.push(diff[0]?.[1].length ?? 0))
    await lab.start(kopf)
    const nest = (leaf: unknown) => {
      let value = leaf
      for (let level = 0; level < 1000; level += 1) value = { child: value }
      return value as Tree
    }
    await lab.create('deep', { spec: nest(1) })
    await lab.untilObject(await createGood('deep'), isHandled)
    const { status } = await lab.untilObject('deep', isHandled)
    expect(JSON.stringify(status)).toContain('"child":1')
    await lab.patch('deep', { spec: nest(2) })
    await lab.until(() => depths.length > 0)
    expect(depths).toEqual([1001])
  })

  test('objects with special characters in their names are read, patched and deleted', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    const roles = ['rbac.authorization.k8s.io', 'v1', 'roles'] as const
    kopf.on.create(roles, async ({ name, client, resource }) => {
      calls.push(`create ${name} ${(await client.get(resource, name)).metadata.name}`)
    })
    kopf.on.delete(roles, ({ name }) => void calls.push(`delete ${name}`))
    await lab.start(kopf)
    const name = 'system:odd näme?&#+~'
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${lab.namespace}/roles`
    expect((await lab.call('POST', path, { metadata: { name }, rules: [] })).status).toBe(201)
    const own = `${path}/${encodeURIComponent(name)}`
    await lab.until(async () => isHandled((await lab.call('GET', own)).body))
    await lab.call('DELETE', own)
    await lab.until(async () => (await lab.call('GET', own)).status === 404)
    expect(calls).toEqual([`create ${name} ${name}`, `delete ${name}`])
  })

  test('malformed progress records are ignored', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'fn', when: named('edited') }, ({ name, retry }) => {
      calls.push(`${name} ${retry}`)
    })
    const records = ['', 'null', '[]', '"text"', '{', '{"retries":"many","started":"yesterday","success":"no"}']
    for (const [index, text] of records.entries()) {
      const annotations = { 'kopf.zalando.org/fn': text, ...(text.startsWith('{"') ? {} : { [lastHandled]: text }) }
      await lab.create(`edited-${index}`, { metadata: { annotations }, spec: { size: 1 } })
    }
    await lab.start(kopf)
    for (const index of records.keys()) {
      const whole = '{"spec":{"size":1}}\n'
      await lab.untilObject(`edited-${index}`, ({ metadata }) => metadata.annotations?.[lastHandled] === whole)
    }
    expect(calls.sort()).toEqual(records.map((_, index) => `edited-${index} 0`))
  })
})

describe('malformed watch lines', () => {
  const badLines: readonly (readonly [string, string])[] = [
    ['no JSON', 'nonsense'],
    ['half an event', '{"type":"ADDED","object":{"metadata":'],
    ['an empty line', ''],
    ['an event of an unknown type', '{"type":"WEIRD","object":{"metadata":{"name":"x"}}}'],
    ['a list', '[1,2]'],
    ['an event without an object', '{"type":"ADDED","object":null}'],
    ['an object without metadata', '{"type":"MODIFIED","object":{"kind":"Widget"}}'],
    ['an object without a name', '{"type":"MODIFIED","object":{"kind":"Widget","metadata":{}}}'],
    ['an object of another kind', '{"type":"ADDED","object":{"kind":"Status","metadata":{"name":"x"}}}'],
    ['a bookmark without a version', '{"type":"BOOKMARK","object":{"metadata":{}}}'],
    ['invalid text', '\u0000\ufffd\ud800'],
  ]
  test.each(badLines)('a watch that sends %s continues with the next line', async (what, line) => {
    const seen: string[] = []
    const kopf = new Operator()
    const prefix = `line-${badLines.findIndex(([other]) => other === what)}`
    kopf.on.event(lab.widgets, { when: named(prefix) }, ({ name }) => void seen.push(name))
    const transport = lab.record()
    transport.meddle = async ({ query }, send) => {
      const response = await send()
      if (query.get('watch') !== 'true') return response
      return { ...response, body: withLines(response.body, `${line}\n`) }
    }
    await lab.create(`${prefix}-before`)
    await lab.start(kopf, { transport })
    await lab.create(`${prefix}-after`)
    await lab.until(() => seen.length >= 2)
    expect(new Set(seen)).toEqual(new Set([`${prefix}-before`, `${prefix}-after`]))
  })
})

/** The same stream with a text before each chunk that starts a line. */
async function* withLines(body: AsyncIterable<Uint8Array>, text: string): AsyncGenerator<Uint8Array> {
  let isLineStart = true
  for await (const chunk of body) {
    if (isLineStart) yield Buffer.from(text)
    yield chunk
    isLineStart = chunk.at(-1) === 10
  }
}

describe('thrown values', () => {
  const nasty = {
    get message(): string {
      throw new Error('a getter that throws')
    },
  }
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('a trap')
      },
      getPrototypeOf() {
        throw new Error('a trap')
      },
    },
  )
  const errorWithGetter = new Error('shown')
  Object.defineProperty(errorWithGetter, 'stack', {
    get() {
      throw new Error('no stack')
    },
  })
  const thrown: readonly (readonly [string, unknown, string])[] = [
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a string', 'just a text', 'just a text'],
    ['a number', 42, '42'],
    ['a symbol', Symbol('sign'), 'Symbol(sign)'],
    ['a frozen error', Object.freeze(new Error('cold')), 'cold'],
    ['a frozen object', Object.freeze({ code: 1 }), ''],
    ['an object with a getter that throws', nasty, 'an error that cannot be read'],
    ['a proxy whose traps throw', hostile, 'an error that cannot be read'],
    ['an error whose stack throws', errorWithGetter, 'shown'],
    ['an error with line breaks', new Error('one\ntwo\u001b[31m'), 'one'],
  ]
  test.each(thrown)('a handler that throws %s fails like any other', async (what, error, message) => {
    const calls: number[] = []
    const prefix = `thrower-${thrown.findIndex(([other]) => other === what)}`
    const kopf = new Operator()
    kopf.on.event(lab.widgets, { id: 'spy', when: named(prefix) }, () => {
      throw error
    })
    kopf.on.create(lab.widgets, { id: 'fn', when: named(prefix), retries: 2, backoff: 0.1 }, ({ spec, retry }) => {
      if (spec['good']) return
      calls.push(retry)
      throw error
    })
    await lab.start(kopf)
    await lab.create(prefix)
    await lab.untilObject(await createGood(prefix), isHandled)
    await lab.untilObject(prefix, isHandled)
    expect(calls).toEqual([0, 1])
    expect(linesAbout(prefix, `Handler 'fn' failed`).some((line) => line.includes(message))).toBe(true)
    expect(linesAbout(prefix, `Handler 'spy' failed`).length).toBeGreaterThan(0)
    expect(linesAbout(prefix, 'Throttling')).toEqual([])
  })
})

describe('stuck handlers', () => {
  // Needs a minute, which is skipped.
  test.skipIf(lab.isReal)('a handler that never returns is named, and blocks only its own object', async () => {
    const kopf = new Operator({ settings: { queueing: { workerLimit: 2 } } })
    kopf.on.create(lab.widgets, { id: 'endless', when: named('stuck') }, ({ spec }) => {
      if (!spec['good']) return new Promise(() => {})
    })
    await lab.start(kopf)
    const names = ['stuck-1', 'stuck-2', 'stuck-3', 'stuck-4', 'stuck-5']
    for (const name of names) await lab.create(name)
    await lab.untilObject(await createGood('stuck'), isHandled)
    for (const name of names)
      await lab.until(() => linesAbout(name, "Handler 'endless' has been running for").length > 0)
    for (const name of names) expect(linesAbout(name, 'has been running for')).toHaveLength(1)
    await lab.stopAll()
  })

  test('a handler that never returns is abandoned when the operator stops', async () => {
    let begun = 0
    let isAborted = false
    const kopf = new Operator({ settings: { queueing: { exitTimeout: 0.2 } } })
    kopf.on.create(lab.widgets, { when: named('left') }, ({ signal }) => {
      begun += 1
      signal.addEventListener('abort', () => (isAborted = true))
      return new Promise(() => {})
    })
    const running = await lab.start(kopf)
    await lab.create('left-behind')
    await lab.until(() => begun === 1)
    await lab.stop(running)
    expect(isAborted).toBe(true)
  })
})

describe('read-only arguments', () => {
  // biome-ignore lint/suspicious/noExplicitAny: JavaScript code without types can do this.
  const changes: readonly (readonly [string, (args: any) => void])[] = [
    ['a field of the spec', ({ spec }) => (spec.size = 2)],
    ['a new field', ({ body }) => (body.status = {})],
    ['a label', ({ labels }) => delete labels.app],
    ['a list', ({ spec }) => spec.list.push(1)],
    ['the metadata', ({ meta }) => (meta.name = 'other')],
    ['the essence', ({ new: now }) => (now.spec = {})],
  ]
  test.each(changes)('a handler that changes its arguments gets a hint to the patch: %s', async (what, change) => {
    const prefix = `changer-${changes.findIndex(([other]) => other === what)}`
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'fn', when: named(prefix), errors: 'permanent' }, (args) => {
      if (!args.spec['good']) change(args)
    })
    await lab.start(kopf)
    await lab.create(prefix, { metadata: { labels: { app: 'web' } }, spec: { size: 1, list: [] } })
    await lab.untilObject(await createGood(prefix), isHandled)
    const { spec } = await lab.untilObject(prefix, isHandled)
    expect(linesAbout(prefix, 'the object is read-only: put what should change into "patch"')).toHaveLength(1)
    expect(spec).toEqual({ size: 1, list: [] })
  })
})

describe('return values', () => {
  const circular: { self?: object } = {}
  circular.self = circular
  const refused: readonly (readonly [string, unknown, string])[] = [
    ['a function', () => {}, 'JSON cannot hold a function'],
    ['an object with a function in it', { deep: [() => {}] }, 'JSON cannot hold a function'],
    ['a symbol', Symbol('x'), 'JSON cannot hold a symbol'],
    ['a circular object', circular, 'contains itself'],
    ['NaN', Number.NaN, 'the number NaN'],
    [
      'an object with a getter that throws',
      {
        get field() {
          throw new Error('unreadable')
        },
      },
      'unreadable',
    ],
  ]
  test.each(refused)('a handler that returns %s fails permanently with the reason', async (what, result, problem) => {
    const prefix = `returner-${refused.findIndex(([other]) => other === what)}`
    let calls = 0
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'fn', when: named(prefix) }, ({ spec, patch }) => {
      patch.status['kept'] = true
      if (spec['good']) return 'fine'
      calls += 1
      return result
    })
    kopf.on.event(lab.widgets, { id: 'spy', when: named(prefix) }, () => result)
    await lab.start(kopf)
    await lab.create(prefix)
    await lab.untilObject(await createGood(prefix), isHandled)
    const { status } = await lab.untilObject(prefix, isHandled)
    expect(status).toEqual({ kept: true })
    expect(calls).toBe(1)
    const [line] = linesAbout(prefix, 'Cannot store what handler "fn" returned under status')
    expect(line).toContain(problem)
    expect(linesAbout(prefix, "Handler 'spy' failed").length).toBeGreaterThan(0)
  })

  test('any return value that JSON can hold is stored', async () => {
    const results: Record<string, unknown> = {
      text: 'text',
      zero: 0,
      no: false,
      list: [1, undefined, null],
      date: new Date(0),
      map: new Map([['a', 1]]),
      big: 12n,
      nothing: undefined,
      null: null,
    }
    const kopf = new Operator()
    for (const [id, result] of Object.entries(results)) {
      kopf.on.create(lab.widgets, { id, when: named('results') }, () => result)
    }
    await lab.start(kopf)
    await lab.create('results')
    const { status } = await lab.untilObject('results', isHandled)
    expect(status).toEqual({
      text: 'text',
      zero: 0,
      no: false,
      list: [1, null, null],
      date: '1970-01-01T00:00:00.000Z',
      map: { a: 1 },
      big: 12,
    })
  })
})

test('a handler that blocks the event loop is named', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'busy', when: named('busy') }, () => {
    const end = Date.now() + 1100
    while (Date.now() < end);
  })
  await lab.start(kopf)
  await lab.create('busy')
  await lab.untilObject('busy', isHandled)
  expect(linesAbout('busy', "Handler 'busy' has blocked the event loop for 1.")).toHaveLength(1)
})
