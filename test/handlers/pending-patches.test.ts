import { Operator, PermanentError, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { isHandled, recordsOf, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

/** Longer than a test may take: a handler that waits this long fails the test. */
const tooLong = 3600

function waitFor(status: object, field: string): void {
  if (!(field in status)) throw new TemporaryError(`"${field}" is not there yet`, { delay: tooLong })
}

describe('pending patches', () => {
  test('handlers that wait for the status of earlier ones pass in one cycle, with one write per endpoint', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'network' }, ({ patch }) => {
      calls.push('network')
      patch.status['network'] = '10.0.0.0/8'
    })
    kopf.on.create(lab.widgets, { id: 'disks' }, ({ status, patch }) => {
      calls.push('disks')
      waitFor(status, 'network')
      patch.status['disks'] = 3
    })
    kopf.on.create(lab.widgets, { id: 'users' }, ({ body }) => {
      calls.push('users')
      waitFor(body['status'] as object, 'disks')
    })
    const transport = lab.record()
    await lab.start(kopf, { transport })
    await lab.create('chain')
    await lab.untilObject('chain', isHandled)
    expect(calls).toEqual(['network', 'disks', 'users'])
    expect(transport.writes()).toHaveLength(2)
  })

  test('a handler sees pending patches in all arguments of the object, with removals and patch functions', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'a' }, ({ patch, conditions }) => {
      patch.spec['size'] = 2
      patch.spec['old'] = null
      patch.metadata.labels['tier'] = 'gold'
      patch.metadata.annotations['example.com/note'] = 'x'
      patch.fns.push((body) => {
        body['status'] = { ...(body['status'] as object), list: ['by a function'] }
      })
      conditions.set('Ready', false, 'Starting')
    })
    kopf.on.create(lab.widgets, { id: 'b' }, ({ body, spec, status, meta, labels, annotations, conditions }) => {
      seen.push(spec, labels['tier'], annotations['example.com/note'], status['list'])
      seen.push(body.metadata === meta, body['spec'] === spec, meta.labels === labels)
      seen.push(conditions.get('Ready')?.reason, Object.isFrozen(body) && Object.isFrozen(status))
    })
    await lab.start(kopf)
    await lab.create('everywhere', { spec: { size: 1, old: true } })
    await lab.untilObject('everywhere', isHandled)
    expect(seen).toEqual([{ size: 2 }, 'gold', 'x', ['by a function'], true, true, true, 'Starting', true])
  })

  test('a handler sees the pending results of earlier handlers, including sub-handlers', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'parent' }, async ({ execute }) => {
      await execute({
        first: () => ({ port: 80 }),
        second: ({ status }) => void seen.push(status['parent/first']),
      })
      return 'done'
    })
    kopf.on.create(lab.widgets, { id: 'last' }, ({ status }) => void seen.push(status))
    await lab.start(kopf)
    await lab.create('results')
    await lab.untilObject('results', isHandled)
    expect(seen).toEqual([{ port: 80 }, { 'parent/first': { port: 80 }, parent: 'done' }])
  })

  test('a handler sees the pending progress records, which show that another handler has failed', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'a' }, () => {
      throw new PermanentError('no quota')
    })
    kopf.on.create(lab.widgets, { id: 'b' }, ({ annotations }) => {
      seen.push(JSON.parse(annotations['kopf.zalando.org/a']!))
    })
    await lab.start(kopf)
    await lab.create('records')
    await lab.untilObject('records', isHandled)
    expect(seen).toMatchObject([{ failure: true, success: false, message: 'no quota', retries: 1 }])
  })

  test('a sub-handler sees the pending patch of its parent, and the later one of two values is written', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'parent' }, async ({ patch, execute }) => {
      patch.status['phase'] = 'Provisioning'
      patch.status['by'] = 'the parent'
      await execute({
        child: ({ status, patch: own }) => {
          seen.push(status['phase'])
          own.status['phase'] = 'Ready'
        },
      })
      patch.status['end'] = true
    })
    await lab.start(kopf)
    await lab.create('parents')
    const { status } = await lab.untilObject('parents', isHandled)
    expect(seen).toEqual(['Provisioning'])
    expect(status).toEqual({ phase: 'Ready', by: 'the parent', end: true })
  })

  test('the change that a handler gets does not include pending patches', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'a' }, ({ patch }) => {
      patch.spec['size'] = 2
    })
    kopf.on.create(lab.widgets, { id: 'b' }, ({ new: now, spec }) => void seen.push(now?.['spec'], spec))
    await lab.start(kopf)
    await lab.create('essence', { spec: { size: 1 } })
    await lab.untilObject('essence', isHandled)
    expect(seen).toEqual([{ size: 1 }, { size: 2 }])
  })

  test('a failing patch function does not keep later handlers from being called', async () => {
    const seen: unknown[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'a' }, ({ patch }) => {
      patch.status['a'] = 1
      patch.fns.push(() => {
        throw new Error('oops')
      })
    })
    kopf.on.create(lab.widgets, { id: 'b' }, ({ status }) => void seen.push(status['a']))
    await lab.start(kopf)
    await lab.create('broken')
    await lab.untilLogged('Cannot edit the object with a function in the patch of handler "a": oops')
    expect(seen).toEqual([1])
  })
})

describe('filters on pending patches', () => {
  test('filters are evaluated with the pending patches of earlier handlers', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'a' }, ({ patch }) => {
      calls.push('a')
      patch.metadata.labels['tier'] = 'gold'
      patch.status['phase'] = 'Ready'
    })
    kopf.on.create(lab.widgets, { id: 'b', when: ({ status }) => status['phase'] === undefined }, () => {
      calls.push('b')
    })
    kopf.on.create(lab.widgets, { id: 'c', labels: { tier: 'gold' } }, () => void calls.push('c'))
    kopf.on.create(lab.widgets, { id: 'd' }, () => void calls.push('d'))
    await lab.start(kopf)
    await lab.create('filters')
    const body = await lab.untilObject('filters', isHandled)
    expect(calls).toEqual(['a', 'd', 'c'])
    expect(recordsOf(body)).toEqual({})
    await lab.untilLogged('Creation is processed: 3 succeeded; 0 failed.')
  })

  test('filters of sub-handlers are evaluated with the pending patches of earlier ones', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'p' }, ({ subhandler }) => {
      subhandler('a', ({ patch }) => {
        patch.status['phase'] = 'Ready'
      })
      subhandler('b', { when: ({ status }) => status['phase'] === undefined }, () => void calls.push('b'))
      subhandler('c', { when: ({ status }) => status['phase'] === 'Ready' }, () => void calls.push('c'))
    })
    await lab.start(kopf)
    await lab.create('subfilters')
    const body = await lab.untilObject('subfilters', isHandled)
    expect(calls).toEqual(['c'])
    expect(recordsOf(body)).toEqual({})
  })

  test('a filter that fails on a pending patch is logged after the patch was written', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'a' }, ({ patch }) => {
      calls.push('a')
      patch.status['phase'] = 'Ready'
    })
    const when = ({ status }: { status: { [key: string]: unknown } }) => {
      if (status['phase'] === 'Ready') throw new Error('oops')
      return true
    }
    kopf.on.create(lab.widgets, { id: 'b', when }, () => void calls.push('b'))
    await lab.start(kopf)
    await lab.create('failing')
    await lab.untilLogged('its "when" filter failed: oops')
    const body = await lab.untilObject('failing', ({ status }) => (status as object | undefined) !== undefined)
    expect(body['status']).toEqual({ phase: 'Ready' })
    expect(recordsOf(body)).toMatchObject({ a: { success: true } })
    expect(calls).toEqual(['a'])
  })
})

describe('calls in the same cycle', () => {
  test('a handler that fails temporarily is called again in the same cycle after others have changed the object', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    for (const [id, needed] of [['c', 'b'], ['b', 'a'], ['a']] as const) {
      kopf.on.create(lab.widgets, { id }, ({ status, patch, retry }) => {
        calls.push(`${id}${retry}`)
        if (needed !== undefined) waitFor(status, needed)
        patch.status[id] = true
      })
    }
    const transport = lab.record()
    await lab.start(kopf, { transport })
    await lab.create('reversed')
    const body = await lab.untilObject('reversed', isHandled)
    expect(calls).toEqual(['c0', 'b0', 'a0', 'c1', 'b1', 'c2'])
    expect(body['status']).toEqual({ a: true, b: true, c: true })
    expect(transport.writes()).toHaveLength(2)
  })

  test('a sub-handler that fails temporarily is called again in the same cycle, even for a change by a handler after its parent', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'p' }, async ({ execute }) => {
      calls.push('p')
      await execute({
        x: ({ status }) => {
          calls.push('x')
          waitFor(status, 'p/y')
        },
        y: ({ status }) => {
          calls.push('y')
          waitFor(status, 'q')
          return 'of y'
        },
      })
    })
    kopf.on.create(lab.widgets, { id: 'q' }, () => {
      calls.push('q')
      return 'of q'
    })
    await lab.start(kopf)
    await lab.create('levels')
    await lab.untilObject('levels', isHandled)
    expect(calls).toEqual(['p', 'x', 'y', 'q', 'p', 'x', 'y', 'x'])
  })

  test('calls in the same cycle happen once per change, and use up no retries', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'waiting', retries: 2 }, ({ retry, status }) => {
      calls.push(`waiting ${retry}: ${Object.keys(status).join()}`)
      if (retry === 0 || calls.length < 6) throw new TemporaryError('not yet', { delay: 0.5 })
    })
    for (const id of ['a', 'b']) {
      kopf.on.create(lab.widgets, { id }, ({ retry }) => {
        calls.push(`${id} ${retry}`)
        if (id === 'b' && retry === 0) throw new TemporaryError('not yet', { delay: 0.2 })
        return 1
      })
    }
    await lab.start(kopf)
    await lab.create('counted')
    const body = await lab.untilObject('counted', isHandled)
    expect(calls).toEqual(['waiting 0: ', 'a 0', 'b 0', 'waiting 1: a', 'b 1', 'waiting 2: a,b'])
    expect(recordsOf(body)).toEqual({})
  })

  test('calls in the same cycle do not repeat forever if two handlers change the object in each attempt', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    for (const id of ['a', 'b']) {
      kopf.on.create(lab.widgets, { id }, ({ patch }) => {
        calls.push(id)
        patch.status['calls'] = calls.length
        throw new TemporaryError('not yet', { delay: tooLong })
      })
    }
    await lab.start(kopf)
    await lab.create('endless')
    await lab.untilObject('endless', (body) => 'b' in recordsOf(body))
    // Each has changed the object once for the other; changes by repeated calls do not count.
    expect(calls).toEqual(['a', 'b', 'a'])
  })

  test('a handler is not called again in the same cycle after other errors, or without a change', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'a', backoff: 0.3 }, ({ retry }) => {
      calls.push(`a${retry}`)
      if (retry === 0) throw new Error('oops')
    })
    kopf.on.create(lab.widgets, { id: 'b' }, ({ retry }) => {
      calls.push(`b${retry}`)
      if (retry === 0) throw new TemporaryError('not yet', { delay: 0.6 })
    })
    kopf.on.create(lab.widgets, { id: 'c' }, ({ patch, spec }) => {
      calls.push('c')
      patch.spec['size'] = spec['size']
    })
    await lab.start(kopf)
    await lab.create('others', { spec: { size: 1 } })
    await lab.untilObject('others', isHandled)
    expect(calls).toEqual(['a0', 'b0', 'c', 'a1', 'b1'])
  })

  test('a handler that fails temporarily is called in the next cycle at once if there was a write meanwhile', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'early' }, () => 1)
    kopf.on.create(lab.widgets, { id: 'waiting' }, ({ status, retry }) => {
      calls.push(`waiting ${retry}`)
      waitFor(status, 'slow')
    })
    kopf.on.create(lab.widgets, { id: 'slow' }, async ({ name }) => {
      // The result of the first handler is written after a second, while this handler runs.
      await lab.untilObject(name, ({ status }) => (status as { early?: number } | undefined)?.early === 1)
      calls.push('slow')
      return 'slow'
    })
    await lab.start(kopf)
    await lab.create('meanwhile')
    await lab.untilObject('meanwhile', isHandled)
    expect(calls).toEqual(['waiting 0', 'slow', 'waiting 1'])
  })
})

test('calls in the same cycle are counted on the object, so that a new process knows the retries left', async () => {
  const calls: string[] = []
  const make = () => {
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'waiting', retries: 2 }, ({ retry }) => {
      calls.push(`waiting ${retry}`)
      throw new TemporaryError('not yet', { delay: 0.5 })
    })
    kopf.on.create(lab.widgets, { id: 'other' }, () => 1)
    return kopf
  }
  const first = await lab.start(make())
  await lab.create('handed')
  const half = await lab.untilObject('handed', (body) => 'waiting' in recordsOf(body))
  await lab.stop(first)
  expect(recordsOf(half)['waiting']).toMatchObject({ retries: 2, repeats: 1, success: false, failure: false })
  await lab.start(make())
  await lab.untilObject('handed', isHandled)
  expect(calls).toEqual(['waiting 0', 'waiting 1', 'waiting 2'])
})
