/** Watching with scripted responses, byte by byte, including responses that no correct server sends. */

import { describe, expect, test } from 'vitest'
import { toAnswerTooLarge, toConnectionError } from '../../src/client/connection-error.ts'
import { reflect } from '../../src/watching/reflector.ts'
import { KnownObjects } from '../../src/watching/store.ts'
import {
  type Answer,
  bookmark,
  configMaps,
  line,
  map,
  page,
  quickly,
  Reflected,
  refused,
  ScriptedSession,
  type StreamAnswer,
  status,
} from './watching-support.ts'

const tooLarge = {
  message: 'Too large resource version: 9, current: 3',
  details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'x' }], retryAfterSeconds: 1 },
}

function started(answers: readonly Answer[], options: Partial<ConstructorParameters<typeof Reflected>[0]> = {}) {
  const session = new ScriptedSession(answers)
  return { session, reflected: new Reflected({ ...options, session }) }
}

const lists = { ...quickly, initialStreaming: false }

const firstState: StreamAnswer = {
  chunks: [line('ADDED', map('one', { version: 3 })) + line('ADDED', map('two', { version: 2 })) + bookmark(5, true)],
  ending: 'hang',
}

describe('initial state', () => {
  test('the initial state is streamed, and the same stream continues with changes', async () => {
    const { session, reflected } = started([
      {
        chunks: [...firstState.chunks, line('MODIFIED', map('one', { version: 6 }))],
        ending: 'hang',
      },
    ])
    await reflected.settle()
    expect(reflected.words).toEqual(['listed one', 'listed two', 'LISTED', 'MODIFIED one'])
    expect(session.queries).toEqual([
      '?watch=true&allowWatchBookmarks=true&timeoutSeconds=600&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    ])
    expect(reflected.states).toEqual([{ type: 'listing' }, { type: 'watching' }])
    await reflected.stop()
    expect(session.open).toBe(0)
    expect(reflected.clock.sleeping).toBe(0)
  })

  test.each([
    ['400', refused(400, 'BadRequest')],
    ['422', refused(422, 'Invalid')],
    ['422 as an event', { chunks: [line('ERROR', status(422, 'Invalid'))], ending: 'end' } as Answer],
  ])('the initial state is listed from then on if streaming is refused with %s', async (_, refusal) => {
    const { session, reflected } = started([
      refusal,
      page(5, [map('one')]),
      { chunks: [line('ERROR', status(410, 'Expired'))], ending: 'end' },
      page(7, [map('one')]),
    ])
    await reflected.settle()
    expect(reflected.words).toEqual(['listed one', 'LISTED'])
    await reflected.advance(1)
    expect(reflected.words).toEqual(['listed one', 'LISTED', 'listed one', 'LISTED'])
    expect(session.queries.slice(1)).toEqual([
      '?limit=500',
      '?watch=true&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion=5',
      '?resourceVersion=5&resourceVersionMatch=NotOlderThan&limit=500',
      '?watch=true&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion=7',
    ])
    await reflected.stop()
  })

  test.each([null, 70])(
    'the initial state is listed if the stream does not end it in time (limit: %s)',
    async (limit) => {
      const { reflected } = started([{ chunks: [line('ADDED', map('one'))], ending: 'hang' }, page(5, [map('one')])], {
        watching: { ...quickly, inactivityTimeout: limit },
      })
      await reflected.advance(69)
      expect(reflected.words).toEqual(['listed one'])
      await reflected.advance(2)
      expect(reflected.words).toEqual(['listed one', 'listed one', 'LISTED'])
      await reflected.stop()
    },
  )

  test('the initial state can be that of an older version, followed by every change since', async () => {
    const changes = [line('MODIFIED', map('one', { version: 6 })) + line('MODIFIED', map('one', { version: 8 }))]
    const { session, reflected } = started([page(3, [map('one')]), { chunks: changes, ending: 'hang' }], {
      startAt: '3',
    })
    await reflected.settle()
    expect(reflected.words).toEqual(['listed one', 'LISTED', 'MODIFIED one', 'MODIFIED one'])
    expect(session.queries).toEqual([
      '?resourceVersion=3&resourceVersionMatch=Exact&limit=500',
      '?watch=true&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion=3',
    ])
    await reflected.stop()
  })

  test('the initial state is the current one if the server has forgotten the requested version', async () => {
    const { session, reflected } = started([refused(410, 'Expired'), page(9, [map('one')])], {
      startAt: '3',
      watching: lists,
    })
    await reflected.advance(1)
    expect(reflected.words).toEqual(['listed one', 'LISTED'])
    expect(session.queries.slice(0, 2)).toEqual([
      '?resourceVersion=3&resourceVersionMatch=Exact&limit=500',
      '?limit=500',
    ])
    await reflected.stop()
  })

  test('the initial state is listed if a bookmark arrives too early', async () => {
    const { reflected } = started([
      { chunks: [line('ADDED', map('one')), bookmark(5)], ending: 'hang' },
      page(5, [map('one')]),
    ])
    await reflected.settle()
    expect(reflected.words).toEqual(['listed one', 'listed one', 'LISTED'])
    await reflected.stop()
  })

  test('the initial state is listed if the stream ends too early repeatedly', async () => {
    const cut: Answer = { chunks: [line('ADDED', map('one'))], ending: 'break' }
    const { reflected } = started([cut, cut, cut, page(5, [map('one')])])
    await reflected.advance(10)
    expect(reflected.words.at(-1)).toBe('LISTED')
    await reflected.stop()
  })

  test('the initial state includes changes that arrive before its end', async () => {
    const { reflected } = started([
      {
        chunks: [
          line('ADDED', map('one', { version: 2 })),
          line('ADDED', map('two', { version: 2 })),
          line('MODIFIED', map('one', { version: 6 })),
          line('DELETED', map('two', { version: 7 })),
          bookmark(7, true),
        ],
        ending: 'hang',
      },
    ])
    await reflected.settle()
    expect(reflected.words).toEqual(['listed one', 'listed two', 'listed one', 'deleted two', 'LISTED'])
    await reflected.stop()
  })

  test('the initial state is read in pages, with the kind of the list for items without a kind', async () => {
    const bare = { metadata: { name: 'two', namespace: 'default', uid: 'u2', resourceVersion: '2' }, data: {} }
    const { session, reflected } = started([page(5, [map('one')], { continue: 'token' }), page(5, [bare])], {
      watching: lists,
    })
    await reflected.settle()
    expect(reflected.words).toEqual(['listed one', 'listed two', 'LISTED'])
    expect(reflected.events[1]).toMatchObject({ object: { apiVersion: 'v1', kind: 'ConfigMap', data: {} } })
    expect(session.queries.slice(0, 2)).toEqual(['?limit=500', '?continue=token&limit=500'])
    await reflected.stop()
  })

  test('the initial state has no null in its metadata, even if the server writes absent fields as null', async () => {
    const nulls = { finalizers: null, ownerReferences: null, labels: null, annotations: null, managedFields: null }
    const one = map('one')
    const object = { ...one, metadata: { ...(one['metadata'] as object), ...nulls } }
    const { reflected } = started([{ chunks: [line('ADDED', object as never) + bookmark(5, true)], ending: 'hang' }])
    await reflected.settle()
    expect(reflected.events[0]).toEqual(expect.objectContaining({ object: one }))
    await reflected.stop()
  })

  test('the initial state is read in smaller pages if a page is too large', async () => {
    const unread = { error: toAnswerTooLarge({ method: 'GET', path: '/api' }, 1024) }
    const { session, reflected } = started(
      [unread, page(5, [map('one')], { continue: 'token' }), unread, page(5, [map('two')])],
      { watching: lists },
    )
    await reflected.settle()
    expect(reflected.words).toEqual(['listed one', 'listed two', 'LISTED'])
    expect(session.queries.slice(0, 4)).toEqual([
      '?limit=500',
      '?limit=100',
      '?continue=token&limit=100',
      '?continue=token&limit=20',
    ])
    await reflected.stop()
  })

  test('the initial state is read in one list without a page limit', async () => {
    const { session, reflected } = started([page(5, [])], { watching: { ...lists, chunkSize: null } })
    await reflected.settle()
    expect(session.queries[0]).toBe('')
    await reflected.stop()
  })

  test('the initial state is read again if a page has expired, and in one list if pages expire repeatedly', async () => {
    const first = page(5, [map('one')], { continue: 'token' })
    const expired = refused(410, 'Expired')
    const { session, reflected } = started([first, expired, first, expired, first, expired, page(6, [map('two')])], {
      watching: lists,
    })
    await reflected.advance(10)
    expect(reflected.words).toEqual(['listed one', 'listed one', 'listed one', 'listed two', 'missed one', 'LISTED'])
    expect(session.queries[6]).toBe('')
    await reflected.stop()
  })

  test('the initial state is requested with the selectors, in lists and watches', async () => {
    const selectors = { labelSelector: 'k in (a,b)', fieldSelector: 'metadata.name=x', shardSelector: 's' }
    const { session, reflected } = started([refused(422, 'Invalid'), page(5, [])], { selectors })
    await reflected.settle()
    expect(session.queries).toHaveLength(3)
    for (const query of session.queries) {
      expect(query).toContain('labelSelector=k in (a,b)&fieldSelector=metadata.name=x&shardSelector=s')
    }
    await reflected.stop()
  })
})

describe('broken watches', () => {
  const text = Buffer.from(
    line('ADDED', map('three', { version: 6 })) + line('MODIFIED', map('zwölf𝄞', { version: 7 })),
  )

  test.each(['end', 'break'] as const)(
    'a watch that breaks after any byte (%s) resumes after the last complete event',
    async (ending) => {
      const ends = text.indexOf(10) + 1
      for (let cut = 0; cut <= text.length; cut += 1) {
        const { session, reflected } = started(
          [
            page(5, []),
            { chunks: [text.subarray(0, cut)], ending },
            { chunks: [text.subarray(cut < ends ? 0 : ends)], ending: 'hang' },
          ],
          { watching: lists },
        )
        await reflected.advance(1)
        expect(reflected.words, `cut after ${cut}`).toEqual([
          'LISTED',
          'ADDED three',
          'ADDED zwölf𝄞'.replace('ADDED', 'MODIFIED'),
        ])
        const from = cut < ends ? 5 : cut < text.length ? 6 : 7
        expect(session.queries[2], `cut after ${cut}`).toContain(`resourceVersion=${from}`)
        await reflected.stop()
      }
    },
  )

  test('a watch that ends resumes from the last bookmark', async () => {
    const { session, reflected } = started([firstState, { chunks: [], ending: 'hang' }])
    await reflected.settle()
    await reflected.advance(71)
    expect(session.queries[1]).toContain('resourceVersion=5')
    await reflected.stop()
  })

  test('a watch that is silent resumes from the last version, and never runs twice', async () => {
    const { session, reflected } = started([
      { chunks: [bookmark(5, true), line('ADDED', map('one', { version: 8 }))], ending: 'hang' },
      { chunks: [bookmark(9)], ending: 'hang' },
    ])
    await reflected.advance(69)
    expect(session.calls).toHaveLength(1)
    await reflected.advance(2)
    expect(session.queries[1]).toContain('resourceVersion=8')
    expect(reflected.errors[0]).toContain('nothing has come')
    await reflected.advance(71)
    expect(session.queries[2]).toContain('resourceVersion=9')
    expect(session.mostOpen).toBe(1)
    await reflected.stop()
  })

  test('a watch that receives bytes without a complete line is closed', async () => {
    const body = async function* (this: void, signal: AbortSignal) {
      for (;;) {
        await reflected.clock.sleep(1000, signal)
        yield Buffer.from(' ')
      }
    }
    let opened = 0
    const session = new ScriptedSession([page(5, [])])
    session.stream = async (_, signal) => {
      opened += 1
      return body(signal)
    }
    const reflected = new Reflected({ session, watching: lists })
    await reflected.advance(60)
    expect(opened).toBe(1)
    await reflected.advance(12)
    expect(opened).toBe(2)
    await reflected.stop()
  })

  test('a watch whose body never ends is abandoned', async () => {
    const { session, reflected } = started([page(5, []), { chunks: [], ending: 'deaf' }], { watching: lists })
    await reflected.advance(71)
    expect(session.calls).toHaveLength(3)
    await reflected.stop()
  })

  test('a watch is reopened after the client timeout', async () => {
    const { session, reflected } = started([page(5, [])], {
      watching: { ...lists, clientTimeout: '20s', inactivityTimeout: null, serverTimeout: 1.5 },
    })
    await reflected.advance(21)
    expect(session.calls).toHaveLength(3)
    expect(session.queries[2]).toContain('timeoutSeconds=2&resourceVersion=5')
    expect(reflected.errors).toEqual([])
    await reflected.stop()
  })
})

describe('watch backoff', () => {
  test('the watch backoff grows to half a minute and is repeated endlessly for any error', async () => {
    const failures = [401, 403, 404, 500, 503, 403, 403, 403, 403, 403, 403].map((code) => refused(code, 'X'))
    const { reflected } = started([...failures, page(5, [])], { watching: lists })
    await reflected.advance(150)
    expect(reflected.delays).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000])
    expect(reflected.words).toEqual(['LISTED'])
    expect(reflected.states.at(-1)).toEqual({ type: 'watching' })
    await reflected.stop()
  })

  test('the watch backoff follows the Retry-After of the server', async () => {
    const busy = refused(429, 'TooManyRequests', { details: { retryAfterSeconds: 7 } })
    const { reflected } = started([busy, page(5, [])], { watching: lists })
    await reflected.advance(6.9)
    expect(reflected.words).toEqual([])
    await reflected.advance(0.2)
    expect(reflected.words).toEqual(['LISTED'])
    await reflected.stop()
  })

  test('the watch backoff is reset by an event', async () => {
    const broken: Answer = { error: new Error('connection refused') }
    const { reflected } = started(
      [page(5, []), broken, broken, broken, { chunks: [bookmark(6)], ending: 'break' }, broken],
      { watching: lists },
    )
    await reflected.advance(5)
    expect(reflected.delays).toEqual([100, 200, 400, 100, 200])
    await reflected.stop()
  })

  test('the watch backoff is reset once if a server returns from an outage and has forgotten the version', async () => {
    const broken: Answer = { error: new Error('connection refused') }
    const expired = refused(410, 'Expired')
    const { reflected } = started(
      [page(5, []), broken, broken, broken, expired, page(5, []), expired, page(5, []), expired, page(5, [])],
      { watching: lists },
    )
    await reflected.advance(5)
    expect(reflected.delays).toEqual([100, 200, 400, 100, 200, 400])
    await reflected.stop()
  })

  test('the watch backoff is skipped after a long quiet watch, but not for a server that closes at once', async () => {
    const closed: Answer = { chunks: [], ending: 'end' }
    const { session, reflected } = started([page(5, []), ...Array(500).fill(closed)], { watching: lists })
    await reflected.advance(60)
    expect(session.calls.length).toBeLessThan(15)
    expect(reflected.errors[0]).toContain('closes it right after the beginning')
    await reflected.stop()
  })

  test('the watch backoff grows if each watch ends after the same bookmark', async () => {
    const same: Answer = { chunks: [bookmark(5)], ending: 'end' }
    const { session, reflected } = started([page(5, []), ...Array(500).fill(same)], { watching: lists })
    await reflected.advance(60)
    expect(session.calls.length).toBeLessThan(15)
    await reflected.stop()
  })

  test('the watch backoff grows if each new list has already expired', async () => {
    const expired: Answer = { chunks: [bookmark(5, true), line('ERROR', status(410, 'Expired'))], ending: 'end' }
    const { session, reflected } = started(Array(500).fill(expired))
    await reflected.advance(60)
    expect(session.calls.length).toBeLessThan(15)
    await reflected.stop()
  })
})

describe('expired versions', () => {
  test.each([
    ['as a status', refused(410, 'Gone')],
    ['as an event', { chunks: [line('ERROR', status(410, 'Expired'))], ending: 'end' } as Answer],
    [
      'as an event without a code',
      { chunks: [line('ERROR', { kind: 'Status', reason: 'Expired' })], ending: 'hang' } as Answer,
    ],
    [
      'right after a bookmark',
      { chunks: [bookmark(5) + line('ERROR', status(410, 'Gone'))], ending: 'hang' } as Answer,
    ],
  ])('an expired version %s causes a new list, which reports deletions', async (_, gone) => {
    const annotations = { long: 'x'.repeat(1000), short: 'y' }
    const one = map('one', { version: 3 })
    Object.assign(one['metadata'] as object, { annotations, labels: { a: 'b' }, managedFields: [{}] })
    const { session, reflected } = started(
      [
        page(5, [one, map('two'), map('three')]),
        gone,
        page(9, [map('two'), map('three', { uid: 'other', version: 8 })]),
      ],
      { watching: lists },
    )
    await reflected.advance(1)
    expect(reflected.words.slice(4)).toEqual(['listed two', 'missed three', 'listed three', 'missed one', 'LISTED'])
    expect(reflected.events.at(-2)).toEqual({
      type: 'deleted',
      missed: true,
      object: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: 'one',
          namespace: 'default',
          uid: 'uid-one',
          resourceVersion: '3',
        },
      },
    })
    expect(session.queries.at(-1)).toContain('resourceVersion=9')
    await reflected.stop()
  })

  test('an expired version during the initial stream restarts the stream', async () => {
    const { session, reflected } = started([
      { chunks: [line('ADDED', map('one')), line('ERROR', status(410, 'Expired'))], ending: 'end' },
      { chunks: [line('ADDED', map('two')), bookmark(7, true)], ending: 'hang' },
    ])
    await reflected.advance(1)
    expect(reflected.words).toEqual(['listed one', 'listed two', 'missed one', 'LISTED'])
    expect(session.queries.every((query) => query.includes('sendInitialEvents'))).toBe(true)
    await reflected.stop()
  })
})

describe('a server behind the known version', () => {
  test.each([
    ['as a status', refused(504, 'Timeout', tooLarge)],
    ['as an event', { chunks: [line('ERROR', status(504, 'Timeout', tooLarge))], ending: 'end' } as Answer],
  ])(
    'a server that reports %s that it is behind is asked again, then for a list as new as the store',
    async (_, behind) => {
      const { session, reflected } = started(
        [page(9, [map('one')]), ...Array(6).fill(behind), page(12, [map('one')])],
        {
          watching: lists,
        },
      )
      await reflected.advance(30)
      expect(
        session.queries
          .slice(1, 7)
          .every((query) => query.includes('watch=true') && query.includes('resourceVersion=9')),
      ).toBe(true)
      expect(session.queries[7]).toBe('?limit=500')
      expect(reflected.words).toEqual(['listed one', 'LISTED', 'listed one', 'LISTED'])
      expect(reflected.delays.every((delay) => delay >= 1000)).toBe(true)
      await reflected.stop()
    },
  )

  test('a server that catches up is watched further without a list', async () => {
    const behind = refused(504, 'Timeout', tooLarge)
    const { session, reflected } = started(
      [page(9, []), behind, behind, { chunks: [line('ADDED', map('one', { version: 10 }))], ending: 'hang' }],
      { watching: lists },
    )
    await reflected.advance(10)
    expect(reflected.words).toEqual(['LISTED', 'ADDED one'])
    expect(session.calls).toHaveLength(4)
    await reflected.stop()
  })

  test('a server that stays behind was restored from a backup, and its older list is accepted', async () => {
    const behind = refused(504, 'Timeout', tooLarge)
    const { session, reflected } = started([
      {
        chunks: [
          line('ADDED', map('one', { version: 8 })),
          line('ADDED', map('two', { version: 8 })),
          bookmark(9, true),
        ],
        ending: 'break',
      },
      { chunks: [bookmark(4)], ending: 'hang' },
      ...Array(6).fill(behind),
      {
        chunks: [
          line('ADDED', map('one', { version: 2 })),
          bookmark(4, true),
          line('MODIFIED', map('one', { version: 5 })),
        ],
        ending: 'hang',
      },
    ])
    await reflected.advance(60)
    expect(reflected.words.slice(3)).toEqual(['listed one', 'missed two', 'REWOUND', 'MODIFIED one'])
    expect(session.queries[2]).toContain('resourceVersionMatch=NotOlderThan&resourceVersion=9'.slice(0, 35))
    expect(session.queries[2]).toContain('resourceVersion=9')
    expect(session.queries[8]).not.toContain('resourceVersion=')
    await reflected.stop()
  })

  const first = { chunks: [line('ADDED', map('one', { version: 8 })), bookmark(9, true)], ending: 'end' } as const
  const silence = { chunks: [], ending: 'hang' } as const

  test('a server that accepts our version and stays silent after an outage is asked for its current version', async () => {
    const away = toConnectionError({ method: 'GET', path: '/' }, new Error('nothing listens'))
    const { session, reflected } = started([first, { error: away }, silence, silence])
    await reflected.advance(80)
    expect(session.queries[2]).toContain('resourceVersion=9')
    expect(session.queries[3]).toContain('sendInitialEvents=true')
    await reflected.stop()
  })

  test('a server that is only silent is watched further from the last version', async () => {
    const { session, reflected } = started([first, silence, silence, silence])
    await reflected.advance(160)
    expect(session.queries.slice(1)).toHaveLength(3)
    for (const query of session.queries.slice(1)) expect(query).toContain('resourceVersion=9')
    await reflected.stop()
  })
})

describe('malformed watch events', () => {
  const after = line('ADDED', map('good', { version: 9 }))

  test.each([
    ['an unknown type', line('RENAMED', map('x', { version: 7 }))],
    ['a numeric type', line(5 as never, map('x'))],
    ['no type', '{}\n'],
    ['null', 'null\n'],
    ['a list instead of an event', '[]\n'],
    ['a null object', line('ADDED', null)],
    ['an object without metadata', line('ADDED', { kind: 'ConfigMap' })],
    ['null metadata', line('ADDED', { kind: 'ConfigMap', metadata: null })],
    ['an object without a name', line('MODIFIED', { kind: 'ConfigMap', metadata: {} })],
    ['a Status object', line('ADDED', status(500, 'X'))],
    ['a Table object', line('ADDED', { kind: 'Table', metadata: {}, rows: [] })],
    ['another kind', line('DELETED', { ...map('x'), kind: 'Secret' })],
    [
      'an object as its namespace',
      line('ADDED', { kind: 'ConfigMap', metadata: { name: 'x', namespace: { toString: 1 } } }),
    ],
    ['a numeric version', line('ADDED', { kind: 'ConfigMap', metadata: { name: 'x', resourceVersion: 7 } })],
    ['a bookmark without a version', line('BOOKMARK', { metadata: {} })],
    ['a null bookmark', line('BOOKMARK', null)],
  ])('a watch event with %s is skipped with a warning', async (_, bad) => {
    const { session, reflected } = started([page(5, []), { chunks: [bad + after], ending: 'hang' }], {
      watching: lists,
    })
    await reflected.settle()
    expect(reflected.words).toEqual(['LISTED', 'ADDED good'])
    expect(reflected.warnings).toHaveLength(1)
    expect(session.calls).toHaveLength(2)
    await reflected.stop()
  })

  test('only the first few of many malformed objects are logged', async () => {
    const { reflected } = started([page(5, Array(100).fill(null))], { watching: lists })
    await reflected.settle()
    expect(reflected.words).toEqual(['LISTED'])
    expect(reflected.warnings).toHaveLength(5)
    await reflected.stop()
  })

  test.each([[[null, 'x', {}, { metadata: null }, map('one')]], [[map('one')]]])(
    'malformed items in a list are skipped',
    async (items) => {
      const { reflected } = started([page(5, items)], { watching: lists })
      await reflected.settle()
      expect(reflected.words).toEqual(['listed one', 'LISTED'])
      expect(reflected.warnings).toHaveLength(items.length - 1)
      await reflected.stop()
    },
  )

  test('a list with null items is empty', async () => {
    const { reflected } = started([page(5, null)], { watching: lists })
    await reflected.settle()
    expect(reflected.words).toEqual(['LISTED'])
    await reflected.stop()
  })

  test('a malformed watch line ends the watch, which resumes before it, and a repeated malformed line is skipped', async () => {
    const bad: Answer = {
      chunks: [`${line('ADDED', map('one', { version: 6 }))}{"type":"ADDED","object":{"token":"s3cret"\n${after}`],
      ending: 'hang',
    }
    const { session, reflected } = started([page(5, []), bad, bad, bad, bad], { watching: lists })
    await reflected.advance(5)
    expect(session.queries.slice(1).map((query) => query.split('resourceVersion=')[1])).toEqual(['5', '6', '6', '6'])
    expect(reflected.words).toEqual(['LISTED', 'ADDED one', 'ADDED good'])
    expect([...reflected.errors, ...reflected.warnings].join()).not.toContain('s3cret')
    expect(reflected.warnings).toHaveLength(1)
    await reflected.stop()
  })

  test('a malformed line in the initial state is skipped after some attempts', async () => {
    const bad: Answer = { chunks: [`{\n${after}${bookmark(9, true)}`], ending: 'hang' }
    const { reflected } = started(Array(5).fill(bad))
    await reflected.advance(5)
    expect(reflected.words).toEqual(['listed good', 'LISTED'])
    await reflected.stop()
  })

  test('an unknown watch error ends the watch, which resumes, and a repeated error causes a new list', async () => {
    const failed: Answer = { chunks: [line('ERROR', status(500, 'InternalError'))], ending: 'hang' }
    const { session, reflected } = started([page(5, []), failed, failed, failed, page(8, [])], { watching: lists })
    await reflected.advance(5)
    expect(session.queries.map((query) => query.includes('watch'))).toEqual([false, true, true, true, false, true])
    expect(reflected.errors).toHaveLength(3)
    await reflected.stop()
  })

  test.each([[null], ['text'], [{}], [{ kind: 'Status', code: 'x' }]])(
    'a watch error with the object %j ends the watch',
    async (object) => {
      const { session, reflected } = started([page(5, []), { chunks: [line('ERROR', object)], ending: 'hang' }], {
        watching: lists,
      })
      await reflected.advance(1)
      expect(session.calls).toHaveLength(3)
      await reflected.stop()
    },
  )

  test('watch events that are repeated, late or out of order are delivered once and never go back', async () => {
    const { session, reflected } = started(
      [
        page(5, [map('one', { version: 5 })]),
        {
          chunks: [
            line('MODIFIED', map('two', { version: 8 })),
            line('ADDED', map('two', { version: 7 })),
            line('MODIFIED', map('two', { version: 8 })),
            line('MODIFIED', map('one', { version: 6 })),
            line('DELETED', map('one', { version: 10 })),
            line('DELETED', map('one', { version: 10 })),
            line('DELETED', map('never', { version: 10 })),
            line('ADDED', map('one', { uid: 'new', version: 11 })),
            line('DELETED', map('one', { version: 10 })),
            line('ADDED', map('one', { uid: 'newer', version: 12 })),
          ],
          ending: 'break',
        },
      ],
      { watching: lists },
    )
    await reflected.advance(1)
    expect(reflected.words.slice(2)).toEqual([
      'MODIFIED two',
      'MODIFIED one',
      'deleted one',
      'ADDED one',
      'missed one',
      'ADDED one',
    ])
    expect(session.queries.at(-1)).toContain('resourceVersion=12')
    await reflected.stop()
  })

  test('watch lines with empty lines, carriage returns, a byte order mark, hostile keys and large integers are read', async () => {
    const hostile = `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","uid":"u","resourceVersion":"6","managedFields":[{}],"annotations":{"__proto__":"x","n":{"toString":1}}},"__proto__":{"polluted":1},"n":9007199254740993}}`
    const { reflected } = started([page(5, []), { chunks: [`\ufeff\r\n\n${hostile}\r\n`], ending: 'hang' }], {
      watching: lists,
    })
    await reflected.settle()
    const [, event] = reflected.events
    expect(reflected.words).toEqual(['LISTED', 'ADDED one'])
    const { object } = event as { object: { metadata: object } & Record<string, unknown> }
    expect(object['n']).toBe(9007199254740993n)
    expect(object.metadata).not.toHaveProperty('managedFields')
    expect(Object.keys(object)).toContain('__proto__')
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    await reflected.stop()
  })
})

test('the objects known before a pause are compared with the first list after it', async () => {
  const known = new KnownObjects()
  const before = started([page(5, [map('one'), map('two')])], { watching: lists, known })
  await before.reflected.settle()
  await before.reflected.stop()
  const { reflected } = started([page(9, [map('two')])], { watching: lists, known })
  await reflected.settle()
  expect(reflected.words).toEqual(['listed two', 'missed one', 'LISTED'])
  await reflected.stop()
})

test('a reflector stops silently at any time: before its start, during a list, a backoff or a watch', async () => {
  const stopped = new AbortController()
  stopped.abort()
  const observer = { watchStateChanged: () => {}, watchWarned: () => {} }
  const session = new ScriptedSession([])
  const clock = started([]).reflected.clock
  const options = { session, clock, resource: configMaps, namespace: undefined, watching: quickly, observer }
  await reflect(options, () => {}, stopped.signal)
  expect(session.calls).toEqual([])
  for (const answers of [[], [refused(500, 'X')], [page(5, [])]]) {
    const { reflected, session: used } = started(answers, { watching: lists })
    await reflected.settle()
    await reflected.stop()
    expect(reflected.clock.sleeping).toBe(0)
    expect(used.open).toBe(0)
  }
})

test('a reflector delivers nothing after its stop, not even from the same chunk', async () => {
  const stop = new AbortController()
  const session = new ScriptedSession([
    { chunks: [line('ADDED', map('one')) + line('ADDED', map('two'))], ending: 'hang' },
  ])
  const seen: string[] = []
  const observer = { watchStateChanged: () => {}, watchWarned: () => {} }
  const { clock } = started([]).reflected
  await reflect(
    { session, clock, resource: configMaps, namespace: 'default', watching: quickly, observer },
    (event) => {
      seen.push(event.type)
      stop.abort()
    },
    stop.signal,
  )
  expect(seen).toEqual(['applied'])
})

test('a reflector ends with the error of its consumer', async () => {
  const session = new ScriptedSession([firstState])
  const observer = { watchStateChanged: () => {}, watchWarned: () => {} }
  const { clock } = started([]).reflected
  const bug = new Error('a bug')
  const running = reflect(
    { session, clock, resource: configMaps, namespace: 'default', watching: quickly, observer },
    () => {
      throw bug
    },
    new AbortController().signal,
  )
  await expect(running).rejects.toBe(bug)
  expect(session.open).toBe(0)
})
