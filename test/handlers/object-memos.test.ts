/** Memos of objects and of the operator. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

test("each object has its own memo, which is a copy of the operator's and is shared by its handlers", async () => {
  const kopf = new Operator({ memo: () => ({ calls: 0, shared: { names: [] as string[] } }) })
  const seen: string[] = []
  const count = ({ name, memo }: { name: string; memo: { calls: number; shared: { names: string[] } } }) => {
    memo.calls += 1
    memo.shared.names.push(name)
    seen.push(`${name} ${memo.calls}`)
  }
  kopf.on.create(lab.widgets, { id: 'c' }, count)
  kopf.on.update(lab.widgets, { id: 'u' }, count)
  kopf.on.event(lab.widgets, { id: 'e', labels: { eventHandler: 'yes' } }, count)
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await untilHandled(lab, 'one')
  await lab.create('two', { spec: { n: 1 } })
  await untilHandled(lab, 'two')
  await lab.patch('one', { spec: { n: 2 } })
  await untilHandled(lab, 'one')
  expect(seen).toEqual(['one 1', 'two 1', 'one 2'])
})

test('objects get copies of the memo that startup handlers have changed', async () => {
  const kopf = new Operator({ memo: () => ({ size: 1 }) })
  const seen: number[] = []
  kopf.on.startup(({ memo }) => {
    memo.size = 7
  })
  kopf.on.create(lab.widgets, ({ memo }) => {
    seen.push(memo.size)
    memo.size += 1
  })
  await lab.start(kopf)
  for (const name of ['one', 'two']) {
    await lab.create(name, { spec: {} })
    await untilHandled(lab, name)
  }
  expect(seen).toEqual([7, 7])
})

test('any field can be set on a memo without a factory', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.on.create(lab.widgets, ({ memo }) => {
    memo['anything'] = 1
  })
  kopf.on.update(lab.widgets, ({ memo }) => void seen.push(memo['anything']))
  await lab.start(kopf)
  await lab.create('one', { spec: { n: 1 } })
  await untilHandled(lab, 'one')
  await lab.patch('one', { spec: { n: 2 } })
  await untilHandled(lab, 'one')
  expect(seen).toEqual([1])
})

test('a recreated object gets a new memo', async () => {
  const kopf = new Operator({ memo: () => ({ calls: 0 }) })
  const seen: number[] = []
  kopf.on.create(lab.widgets, ({ memo }) => {
    memo.calls += 1
    seen.push(memo.calls)
  })
  await lab.start(kopf)
  for (let round = 0; round < 2; round += 1) {
    await lab.create('phoenix', { spec: {} })
    await untilHandled(lab, 'phoenix')
    await lab.delete('phoenix')
    await lab.untilGone('phoenix')
  }
  expect(seen).toEqual([1, 1])
})

test('a memo of a class stays an instance of the class for each object', async () => {
  class Visits {
    count = 0
    readonly all: string[] = []
    note(name: string): string {
      this.count += 1
      this.all.push(name)
      return `${name} ${this.count} of ${this.all.length}`
    }
  }
  const kopf = new Operator({ memo: () => new Visits() })
  const seen: string[] = []
  kopf.on.create(lab.widgets, { id: 'c' }, ({ name, memo }) => void seen.push(memo.note(name)))
  kopf.on.update(lab.widgets, { id: 'u' }, ({ name, memo }) => void seen.push(memo.note(name)))
  await lab.start(kopf)
  for (const name of ['one', 'two']) {
    await lab.create(name, { spec: { n: 1 } })
    await untilHandled(lab, name)
  }
  await lab.patch('one', { spec: { n: 2 } })
  await untilHandled(lab, 'one')
  expect(seen).toEqual(['one 1 of 1', 'two 1 of 2', 'one 2 of 3'])
})

test('clone() creates the memos of classes with private fields, once per object', async () => {
  class Visits {
    #count = 0
    readonly #onClone: () => void
    constructor(onClone: () => void) {
      this.#onClone = onClone
    }
    next(): number {
      this.#count += 1
      return this.#count
    }
    clone(): Visits {
      this.#onClone()
      return new Visits(this.#onClone)
    }
  }
  let clones = 0
  const kopf = new Operator({ memo: () => new Visits(() => (clones += 1)) })
  const seen: string[] = []
  kopf.on.startup(({ memo }) => void seen.push(`startup ${memo.next()}`))
  kopf.on.event(lab.widgets, { id: 'e' }, ({ memo }) => memo)
  kopf.on.create(lab.widgets, { id: 'c' }, ({ name, memo }) => void seen.push(`${name} ${memo.next()}`))
  kopf.on.update(lab.widgets, { id: 'u' }, ({ name, memo }) => void seen.push(`${name} ${memo.next()}`))
  await lab.start(kopf)
  for (const name of ['one', 'two']) {
    await lab.create(name, { spec: { n: 1 } })
    await untilHandled(lab, name)
  }
  await lab.patch('one', { spec: { n: 2 } })
  await untilHandled(lab, 'one')
  expect(seen).toEqual(['startup 1', 'one 1', 'two 1', 'one 2'])
  expect(clones).toBe(2)
})

test('a clone() that returns the same instance shares one memo among all objects and activities', async () => {
  class Shared {
    readonly names: string[] = []
    clone(): this {
      return this
    }
  }
  const shared = new Shared()
  const kopf = new Operator({ memo: () => shared })
  kopf.on.startup(({ memo }) => void memo.names.push('startup'))
  kopf.on.cleanup(({ memo }) => void memo.names.push('cleanup'))
  kopf.on.create(lab.widgets, ({ name, memo }) => void memo.names.push(name))
  const running = await lab.start(kopf)
  for (const name of ['one', 'two']) {
    await lab.create(name, { spec: {} })
    await untilHandled(lab, name)
  }
  await lab.stop(running)
  expect(shared.names).toEqual(['startup', 'one', 'two', 'cleanup'])
})

test('activities share the memo of the operator, which objects do not change', async () => {
  const kopf = new Operator({ memo: () => ({ seen: [] as string[], own: 'operator' }) })
  kopf.on.startup({ id: 'first' }, ({ memo }) => {
    memo.own = 'startup'
  })
  const owns: string[] = []
  kopf.on.startup({ id: 'second' }, ({ memo }) => void owns.push(memo.own))
  kopf.on.create(lab.widgets, ({ name, memo }) => {
    memo.own = name
  })
  kopf.on.cleanup(({ memo }) => void owns.push(memo.own))
  const running = await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await untilHandled(lab, 'one')
  await lab.stop(running)
  expect(owns).toEqual(['startup', 'startup'])
})

test('each start of an operator creates a new memo', async () => {
  const kopf = new Operator({ memo: () => ({ starts: 0 }) })
  const seen: number[] = []
  kopf.on.startup(({ memo }) => {
    memo.starts += 1
    seen.push(memo.starts)
  })
  await lab.stop(await lab.start(kopf))
  await lab.stop(await lab.start(kopf))
  expect(seen).toEqual([1, 1])
})

test('an object has one memo for all its handlers, filters, daemons and timers', async () => {
  const kopf = new Operator({ memo: () => ({ names: new Set<string>() }) })
  const memos = new Set<object>()
  const note = ({ memo }: { memo: object }) => memos.add(memo).size
  const who: string[] = []
  kopf.on.event(lab.widgets, { id: 'e', when: note }, ({ memo }) => void who.push(`event ${note({ memo })}`))
  kopf.on.create(lab.widgets, { id: 'c', when: note }, ({ memo }) => void who.push(`create ${note({ memo })}`))
  kopf.daemon(lab.widgets, { id: 'd', when: note }, ({ memo }) => void who.push(`daemon ${note({ memo })}`))
  kopf.timer(
    lab.widgets,
    { id: 't', when: note, interval: 0.1 },
    ({ memo }) => void who.push(`timer ${note({ memo })}`),
  )
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.until(() => ['event', 'create', 'daemon', 'timer'].every((kind) => who.includes(`${kind} 1`)))
  expect(memos.size).toBe(1)
})

test('the memos of deleted objects are released', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const kopf = new Operator({ memo: () => ({ size: 0 }) })
  const memos: WeakRef<object>[] = []
  kopf.daemon(lab.widgets, { id: 'd' }, async ({ memo, stopped }) => {
    memos.push(new WeakRef(memo))
    await stopped.wait()
    memo.size += 1
  })
  kopf.timer(lab.widgets, { id: 't', interval: 0.1 }, ({ memo }) => void memo.size)
  await lab.start(kopf)
  for (const name of ['one', 'two', 'three']) await lab.create(name, { spec: {} })
  await lab.until(() => memos.length === 3)
  for (const name of ['one', 'two']) {
    await lab.delete(name)
    await lab.untilGone(name)
  }
  await lab.until(() => {
    collect()
    return memos.filter((memo) => memo.deref() !== undefined).length === 1
  })
})

test('a memo that cannot be copied fails the start', async () => {
  class Sealed {
    #count = 0
    next(): number {
      this.#count += 1
      return this.#count
    }
  }
  const kopf = new Operator({ memo: () => new Sealed() })
  let isStarted = false
  kopf.on.startup(() => {
    isStarted = true
  })
  await expect(lab.start(kopf)).rejects.toMatchObject({
    code: 'KOPF_MEMO',
    message: expect.stringContaining('copies do not have the private fields of Sealed; give it a method clone()'),
  })
  expect(isStarted).toBe(false)
})

test('a clone() that throws is logged and retried', async () => {
  let attempts = 0
  class Moody {
    clone(): this {
      attempts += 1
      if (attempts === 1) throw new Error('Not in the mood')
      return this
    }
  }
  const kopf = new Operator({ memo: () => new Moody() })
  kopf.on.create(lab.widgets, { backoff: 0.1 }, () => ({ attempts }))
  await lab.start(kopf)
  await lab.create('one', { spec: {} })
  await lab.untilLogged('Cannot give each object a copy of the memo: its clone() failed: Not in the mood')
  const { status } = await untilHandled(lab, 'one')
  expect(status).toEqual({ create: { attempts: 2 } })
})
