import { Operator, PermanentError, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { isHandled, recordsOf, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

/** Longer than a test may take: a handler that waits for it fails the test. */
const tooLong = 3600

function waitFor(status: object, field: string): void {
  if (!(field in status)) throw new TemporaryError(`"${field}" is not there yet`, { delay: tooLong })
}

describe('a handler sees what the handlers before it in the same cycle have put into their patches', () => {
  test('so a chain of handlers that wait for the status passes in one cycle, with one write for each endpoint', async () => {
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

  test('in all arguments that show the object, with removals and edits by functions', async () => {
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

  test('and results that are delivered to the status, also of sub-handlers', async () => {
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

  test('and the progress records, by which a handler can tell that another has failed', async () => {
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

  test('and a sub-handler sees what its parent has put into the patch before; of two values the later one is written', async () => {
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

  test('while the change that it is called for stays what it was', async () => {
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

  test('and a function in a patch that fails does not keep the handlers after it from being called', async () => {
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

describe('filters are judged by what the handlers before have changed', () => {
  test('a handler is not called if it does not match any more, and one that matches now is called', async () => {
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

  test('a sub-handler too', async () => {
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

  test('a filter that fails then is reported, after what was done is written', async () => {
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

describe('a handler that asked for a retry is called again in the same cycle when others have changed the object', () => {
  test('so handlers may be in any order', async () => {
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

  test('sub-handlers as well, also when a handler of their own level comes after their parent', async () => {
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

  test('once for each change, and without using up its retries', async () => {
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

  test('but not forever, if two of them change the object in every attempt', async () => {
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
    // Both have changed the object once for the other; what they change when they are called again does not count.
    expect(calls).toEqual(['a', 'b', 'a'])
  })

  test('not after any other error, and not if nothing has changed', async () => {
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

  test('in the next cycle, at once, if something was written meanwhile', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'early' }, () => 1)
    kopf.on.create(lab.widgets, { id: 'waiting' }, ({ status, retry }) => {
      calls.push(`waiting ${retry}`)
      waitFor(status, 'slow')
    })
    kopf.on.create(lab.widgets, { id: 'slow' }, async ({ name }) => {
      // The result of the first handler is written after a second, while this one is running.
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

test('repeated calls are counted on the object, so that a new process knows how many retries are left', async () => {
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
