import { type Args, Operator, PermanentError, PRESENT, TemporaryError } from 'kopf'
import { runHandler } from 'kopf/testing'
import { describe, expect, test } from 'vitest'
import { type Body, useLab } from '../support/lab.ts'

const lab = useLab()
const lastHandled = 'kopf.zalando.org/last-handled-configuration'

function recordsOf({ metadata }: Body): Record<string, { [key: string]: unknown }> {
  const ours = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => key.startsWith('kopf.zalando.org/') && key !== lastHandled && !key.endsWith('/seen-configurations'),
  )
  return Object.fromEntries(ours.map(([key, text]) => [key.slice('kopf.zalando.org/'.length), JSON.parse(text)]))
}

function isHandled({ metadata }: Body): boolean {
  return lastHandled in (metadata.annotations ?? {})
}

test('declared sub-handlers run when their parent returns, and their results are stored', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, ({ spec, subhandler }) => {
    for (const user of spec['users'] as string[]) {
      subhandler(user, ({ name }) => {
        calls.push(`${name}/${user}`)
        return { made: user }
      })
    }
    calls.push('parent')
    return 'of the parent'
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('declared', { spec: { users: ['ann', 'bob'] } })
  const body = await lab.untilObject('declared', isHandled)
  expect(calls).toEqual(['parent', 'declared/ann', 'declared/bob'])
  expect(body['status']).toEqual({ p: 'of the parent', 'p/ann': { made: 'ann' }, 'p/bob': { made: 'bob' } })
  expect(recordsOf(body)).toEqual({})
  // One write of the status and one of the object.
  expect(transport.writes()).toHaveLength(2)
})

test('execute runs the declared sub-handlers and the given functions at once', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, async ({ subhandler, execute }) => {
    subhandler('first', () => void calls.push('first'))
    await execute()
    calls.push('between')
    await execute({ second: () => void calls.push('second'), third: async () => void calls.push('third') })
    await execute([
      function fourth() {
        calls.push('fourth')
        return 4
      },
    ])
    calls.push('end')
  })
  await lab.start(kopf)
  await lab.create('executed')
  const { status } = await lab.untilObject('executed', isHandled)
  expect(calls).toEqual(['first', 'between', 'second', 'third', 'fourth', 'end'])
  expect(status).toEqual({ 'p/fourth': 4 })
})

test('only a failed sub-handler is called again with its parent, and finished ones keep their success', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, ({ retry, subhandler }) => {
    calls.push(`p${retry}`)
    subhandler('a', () => {
      calls.push('a')
      return { message: 'done' }
    })
    subhandler('b', ({ retry }) => {
      calls.push(`b${retry}`)
      if (retry < 2) throw new TemporaryError('not yet', { delay: 0.4 })
    })
  })
  await lab.start(kopf)
  await lab.create('family')
  const half = await lab.untilObject('family', (body) => 'p' in recordsOf(body))
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/)
  expect(recordsOf(half)).toEqual({
    p: {
      started: timestamp,
      delayed: timestamp,
      purpose: 'create',
      retries: 1,
      success: false,
      failure: false,
      message: expect.any(String),
      subrefs: ['p/a', 'p/b'],
    },
    'p.a': {
      started: timestamp,
      stopped: timestamp,
      purpose: 'create',
      retries: 1,
      success: true,
      failure: false,
      seen: expect.any(String),
    },
    'p.b': {
      started: timestamp,
      delayed: timestamp,
      purpose: 'create',
      retries: 1,
      success: false,
      failure: false,
      message: 'not yet',
    },
  })
  expect(half['status']).toEqual({ 'p/a': { message: 'done' } })
  const whole = await lab.untilObject('family', isHandled)
  expect(calls).toEqual(['p0', 'a', 'b0', 'p1', 'b1', 'p2', 'b2'])
  expect(recordsOf(whole)).toEqual({})
})

test('the log counts the handlers of an object, without their sub-handlers', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, async ({ execute }) => {
    await execute({
      good: () => {},
      bad: () => {
        throw new PermanentError('no')
      },
    })
  })
  await lab.start(kopf)
  await lab.create('counted')
  await lab.untilLogged('Creation is processed: 1 succeeded; 0 failed.')
})

test('sub-handlers can have sub-handlers, whose records their ancestors list', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, ({ subhandler }) => {
    subhandler('a', ({ subhandler }) => {
      calls.push('a')
      subhandler('x', ({ retry }) => {
        calls.push(`x${retry}`)
        if (retry < 1) throw new TemporaryError('not yet', { delay: 0.4 })
        return 'deep'
      })
    })
  })
  await lab.start(kopf)
  await lab.create('nested')
  const half = recordsOf(await lab.untilObject('nested', (body) => 'p' in recordsOf(body)))
  expect(Object.keys(half).sort()).toEqual(['p', 'p.a', 'p.a.x'])
  expect(half['p']?.['subrefs']).toEqual(['p/a', 'p/a/x'])
  expect(half['p.a']?.['subrefs']).toEqual(['p/a/x'])
  const whole = await lab.untilObject('nested', isHandled)
  expect(calls).toEqual(['a', 'x0', 'a', 'x1'])
  expect(whole['status']).toEqual({ 'p/a/x': 'deep' })
  expect(recordsOf(whole)).toEqual({})
})

test('a permanently failed sub-handler is not called again, and its parent continues', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, async ({ subhandler, execute }) => {
    subhandler('bad', () => {
      calls.push('bad')
      throw new PermanentError('never ever')
    })
    subhandler('good', () => void calls.push('good'))
    await execute()
    calls.push('after')
  })
  await lab.start(kopf)
  await lab.create('half-good')
  await lab.untilObject('half-good', isHandled)
  expect(calls).toEqual(['bad', 'good', 'after'])
  expect(lab.logs.some((line) => line.includes("Handler 'p/bad' failed permanently: never ever"))).toBe(true)
})

describe('outcomes of execute', () => {
  test('execute resolves with the outcomes of the sub-handlers by id, including those of earlier cycles', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'p' }, async ({ subhandler, execute }) => {
      subhandler('skipped', { labels: { never: PRESENT } }, () => {})
      subhandler('declared', () => 'of declared')
      const outcomes = await execute({
        good: () => ({ port: 80 }),
        bad: () => {
          throw new PermanentError('no quota')
        },
        late: ({ retry }) => {
          if (retry === 0) throw new TemporaryError('not yet', { delay: 0.3 })
        },
      })
      seen.push(outcomes, outcomes.bad.message, outcomes['declared']?.result)
    })
    await lab.start(kopf)
    await lab.create('outcomes')
    await lab.untilObject('outcomes', isHandled)
    const done = { succeeded: true, message: undefined, attempts: 1 }
    expect(seen).toEqual([
      {
        declared: { ...done, id: 'p/declared', result: 'of declared' },
        good: { ...done, id: 'p/good', result: { port: 80 } },
        bad: { id: 'p/bad', succeeded: false, result: undefined, message: 'no quota', attempts: 1 },
        late: { ...done, id: 'p/late', result: undefined, attempts: 2 },
      },
      'no quota',
      'of declared',
    ])
  })

  test('execute with throwOnFailure fails the handler when all sub-handlers have finished and some have failed', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'p' }, async ({ execute }) => {
      const fail = () => {
        throw new PermanentError('no quota')
      }
      const fns = { a: fail, b: fail, c: () => void calls.push('c') }
      await execute(fns, { throwOnFailure: true })
      calls.push('not reached')
    })
    await lab.start(kopf)
    await lab.create('throwing')
    await lab.untilObject('throwing', isHandled)
    expect(calls).toEqual(['c'])
    await lab.untilLogged(
      'Handler \'p\' failed permanently: Sub-handlers have failed: "p/a": no quota; "p/b": no quota',
    )
  })

  test('execute returns the outcomes of given functions in runHandler', async () => {
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'p' }, async ({ execute, patch }) => {
      patch.status['parent'] = 1
      const { a, b } = await execute({
        a: ({ status }) => status['parent'],
        b: ({ status }) => {
          throw new PermanentError(`after ${String(status['p/a'])}`)
        },
      })
      return [a.result, b.succeeded, b.message] as string[]
    })
    const { result } = await runHandler(kopf, { resource: lab.widgets, id: 'p' })
    expect(result).toEqual([1, false, 'after 1'])
  })
})

test('sub-handlers have options of their own', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'p' }, ({ subhandler }) => {
    subhandler('param', { param: 42 }, ({ param }) => void calls.push(`param ${param}`))
    subhandler('labelled', { labels: { never: PRESENT } }, () => void calls.push('labelled'))
    subhandler('when', { when: ({ name }) => name === 'optional' }, () => void calls.push('when'))
    subhandler('once', { errors: 'permanent' }, () => {
      calls.push('once')
      throw new Error('an arbitrary error')
    })
    subhandler('ignored', { errors: 'ignored' }, () => {
      calls.push('ignored')
      throw new Error('an arbitrary error')
    })
    subhandler('twice', { retries: 2, backoff: 0.1 }, ({ retry }) => {
      calls.push(`twice ${retry}`)
      throw new Error('an arbitrary error')
    })
  })
  await lab.start(kopf)
  await lab.create('optional')
  await lab.untilObject('optional', isHandled)
  expect(calls).toEqual(['param 42', 'when', 'once', 'ignored', 'twice 0', 'twice 1'])
})

test('sub-handlers of an update get the same change, and those with a field only if it has changed', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.update(lab.widgets, { id: 'p' }, ({ subhandler }) => {
    subhandler('whole', ({ old, new: now, reason }) => {
      calls.push(`${reason} ${old?.['spec']['size']}->${now?.['spec']['size']}`)
    })
    subhandler('size', { field: 'spec.size', old: 1 }, ({ old, new: now }) => void calls.push(`size ${old}->${now}`))
    subhandler('other', { field: 'spec.other' }, () => void calls.push('other'))
  })
  await lab.start(kopf)
  await lab.create('changing', { spec: { size: 1, other: 1 } })
  await lab.untilObject('changing', isHandled)
  await lab.patch('changing', { spec: { size: 2 } })
  await lab.until(() => calls.length === 2)
  expect(calls).toEqual(['update 1->2', 'size 1->2'])
})

test('sub-handlers hold the deletion until they have finished', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.delete(lab.widgets, { id: 'p' }, ({ subhandler }) => {
    subhandler('clean', ({ retry, reason }) => {
      calls.push(`${reason} ${retry}`)
      if (retry < 1) throw new TemporaryError('not yet', { delay: 0.1 })
    })
  })
  await lab.start(kopf)
  await lab.create('leaving')
  await lab.untilObject('leaving', ({ metadata }) => metadata.finalizers !== undefined)
  await lab.delete('leaving')
  await lab.untilGone('leaving')
  expect(calls).toEqual(['delete 0', 'delete 1'])
})

const mistakes: readonly (readonly [string, (args: Args<'create', typeof lab.widgets>) => unknown, string])[] = [
  ['a child without a name', ({ execute }) => execute([() => {}]), 'the function has no name: give it an id'],
  [
    'two children of one name',
    ({ subhandler }) => {
      subhandler('twin', () => {})
      subhandler('twin', () => {})
    },
    'Cannot declare a second sub-handler "p/twin": give one of them another id',
  ],
  // @ts-expect-error: JavaScript code without types can do this.
  ['an option that there is not', ({ subhandler }) => subhandler('x', { interval: 1 }, () => {}), '"interval"'],
]

test.each(mistakes)('a sub-handler mistake is reported: %s', async (what, fn, expected) => {
  const kopf = new Operator()
  const name = what.replaceAll(' ', '-')
  kopf.on.create(lab.widgets, { id: 'p', errors: 'permanent', when: (args) => args.name === name }, fn)
  await lab.start(kopf)
  await lab.create(name)
  await lab.untilLogged(expected)
})

test('event handlers have no sub-handlers', async () => {
  const kopf = new Operator()
  const seen: object[] = []
  kopf.on.event(lab.widgets, (args) => void seen.push(args))
  await lab.start(kopf)
  await lab.create('watched')
  await lab.until(() => seen.length > 0)
  expect(seen[0]).not.toHaveProperty('subhandler')
  expect(seen[0]).not.toHaveProperty('execute')
})
