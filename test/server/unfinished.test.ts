/** Whatever the server was at when it was killed, it finishes in its next life; and what is not kept, nobody sees. */
import type { ApiServer } from 'kopf/server'
import { describe, expect, test } from 'vitest'
import { crd, crdsPath } from '../support/crds.ts'
import { ask, InProcessWatch } from '../support/in-process.ts'
import { startKept } from '../support/kept-server.ts'
import { ManualClock, settle } from '../support/manual-clock.ts'
import { configMap, namespace, object } from '../support/objects.ts'
import { problem, UnreliableDisk } from '../support/unreliable-disk.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'

interface Metadata {
  readonly uid: string
}

const read = async (api: ApiServer, path: string) => (await ask(api, 'GET', path)).status

/** Until nothing happens any more: every step of a controller waits for the disk. */
async function quiet(api: ApiServer): Promise<void> {
  for (let version = ''; version !== api.version; ) {
    version = api.version
    for (let turn = 0; turn < 3; turn += 1) await settle()
  }
}

/** Does something at every step of which the process is killed in its turn; then looks at the next life. */
async function atEveryStep(
  prepare: (api: ApiServer) => Promise<void>,
  act: (api: ApiServer) => Promise<unknown>,
  check: (api: ApiServer) => Promise<void>,
): Promise<void> {
  for (let step = 1, isOver = false; !isOver; step += 1) {
    const clock = new ManualClock()
    const disk = new UnreliableDisk()
    const api = await startKept(disk, clock)
    await prepare(api)
    await quiet(api)
    const before = disk.operations
    disk.stopAt = before + step
    void act(api)
    await quiet(api)
    isOver = disk.operations < disk.stopAt
    const next = await startKept(disk.afterCrash(), clock)
    await quiet(next)
    await check(next)
  }
}

describe('killed at whatever step,', () => {
  test('the garbage collector collects what has lost its owner', async () => {
    await atEveryStep(
      async (api) => {
        const owner = (await ask(api, 'POST', configMaps, { body: configMap('owner') })).body['metadata'] as Metadata
        const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.uid }]
        for (const name of ['a', 'b'])
          await ask(api, 'POST', configMaps, { body: configMap({ name, ownerReferences }) })
      },
      (api) => ask(api, 'DELETE', `${configMaps}/owner`),
      async (api) => {
        const expected = await read(api, `${configMaps}/owner`)
        for (const name of ['a', 'b']) expect(await read(api, `${configMaps}/${name}`)).toBe(expected)
      },
    )
  })

  test('an owner that waits for its dependents goes after them', async () => {
    await atEveryStep(
      async (api) => {
        const owner = (await ask(api, 'POST', configMaps, { body: configMap('owner') })).body['metadata'] as Metadata
        const reference = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          name: 'owner',
          uid: owner.uid,
          blockOwnerDeletion: true,
        }
        await ask(api, 'POST', configMaps, { body: configMap({ name: 'a', ownerReferences: [reference] }) })
      },
      (api) => ask(api, 'DELETE', `${configMaps}/owner?propagationPolicy=Foreground`),
      async (api) => expect(await read(api, `${configMaps}/a`)).toBe(await read(api, `${configMaps}/owner`)),
    )
  })

  test('a namespace that is being deleted is emptied and goes', async () => {
    const inside = '/api/v1/namespaces/brief/configmaps'
    await atEveryStep(
      async (api) => {
        await ask(api, 'POST', '/api/v1/namespaces', { body: namespace('brief') })
        for (const name of ['a', 'b']) await ask(api, 'POST', inside, { body: configMap(name) })
      },
      (api) => ask(api, 'DELETE', '/api/v1/namespaces/brief'),
      async (api) => {
        const { status, text } = await ask(api, 'GET', '/api/v1/namespaces/brief')
        expect(text).not.toContain('Terminating')
        expect(await read(api, `${inside}/a`)).toBe(status)
      },
    )
  })

  test('a definition that is being deleted goes, after its objects', async () => {
    const widgets = '/apis/example.com/v1/namespaces/default/widgets'
    const name = `${crdsPath}/widgets.example.com`
    await atEveryStep(
      async (api) => {
        await ask(api, 'POST', crdsPath, { body: crd({ group: 'example.com', kind: 'Widget' }) })
        await quiet(api)
        await ask(api, 'POST', widgets, { body: object('example.com/v1', 'Widget', 'one') })
      },
      (api) => ask(api, 'DELETE', name),
      async (api) => expect(await read(api, `${widgets}/one`)).toBe(await read(api, name)),
    )
  })

  test('a definition that has just come is served', async () => {
    const name = `${crdsPath}/widgets.example.com`
    await atEveryStep(
      async () => {},
      (api) => ask(api, 'POST', crdsPath, { body: crd({ group: 'example.com', kind: 'Widget' }) }),
      async (api) => expect(await read(api, '/apis/example.com/v1/widgets')).toBe(await read(api, name)),
    )
  })
})

describe('what is not kept', () => {
  /** A server whose disk takes its time: nothing is kept until it is let. */
  async function slow() {
    const disk = new UnreliableDisk()
    const clock = new ManualClock()
    const api = await startKept(disk, clock)
    await quiet(api)
    let isSlow = true
    const waiting: Array<(error?: Error) => void> = []
    const { create } = disk
    disk.create = async (name) => {
      const file = await create.call(disk, name)
      const wait = () =>
        new Promise<void>((resolve, reject) => waiting.push((error) => (error ? reject(error) : resolve())))
      const sync = async () => {
        if (isSlow) await wait()
        await file.sync()
      }
      return { ...file, sync }
    }
    // The next file is of that kind: the present one has failed.
    disk.fault = (operation) => {
      if (operation === 'write') throw problem('EIO')
      return undefined
    }
    await ask(api, 'POST', configMaps, { body: configMap('lost') })
    disk.fault = () => undefined
    isSlow = false
    await clock.advance(1000)
    isSlow = true
    const finish = async (error?: Error) => {
      for (const each of waiting.splice(0)) each(error)
      await quiet(api)
    }
    return { api, clock, finish }
  }

  test('is neither acknowledged, nor read, nor listed, nor refused for, nor watched', async () => {
    const { api, finish } = await slow()
    const told: string[] = []
    const watch = await InProcessWatch.open(api, configMaps)
    void watch.next().then((event) => told.push(`watched ${event}`))
    const note = (what: string, path: string, method = 'GET', body?: object) =>
      void ask(api, method, path, body === undefined ? {} : { body }).then(({ status }) =>
        told.push(`${what} ${status}`),
      )
    note('created', configMaps, 'POST', configMap('a'))
    await settle()
    note('read', `${configMaps}/a`)
    note('listed', configMaps)
    note('refused', configMaps, 'POST', configMap('a'))
    // What has nothing to do with objects does not wait.
    note('healthy', '/readyz')
    await quiet(api)
    expect(told).toEqual(['healthy 200'])
    await finish()
    expect(told.slice(1).sort()).toEqual(['created 201', 'listed 200', 'read 200', 'refused 409', 'watched ADDED a'])
  })

  test('and cannot be kept, has never been there: writers are refused, readers see what is', async () => {
    const { api, clock, finish } = await slow()
    const watch = await InProcessWatch.open(api, configMaps)
    const created = ask(api, 'POST', configMaps, { body: configMap('a') })
    await settle()
    const readers = [ask(api, 'GET', `${configMaps}/a`), ask(api, 'GET', configMaps)]
    const opening = InProcessWatch.open(api, `${configMaps}?resourceVersion=0`)
    await finish(problem('ENOSPC'))
    const { status, headers, body } = await created
    expect({ status, retryAfter: headers['retry-after'], reason: body['reason'] }).toEqual({
      status: 500,
      retryAfter: '1',
      reason: 'InternalError',
    })
    expect(body['message']).toContain('the change cannot be kept: ENOSPC')
    const [one, all] = await Promise.all(readers)
    expect([one!.status, all!.body['items']]).toEqual([404, []])
    expect((await ask(api, 'POST', configMaps, { body: configMap('b') })).status).toBe(500)
    await clock.advance(1000)
    await finish()
    void ask(api, 'POST', configMaps, { body: configMap('c') })
    await quiet(api)
    await finish()
    const late = await opening
    expect([await watch.next(), await late.next()]).toEqual(['ADDED c', 'ADDED c'])
  })

  test('by a controller, is done when the disk is well again', async () => {
    const { api, clock, finish } = await slow()
    const write = async (method: string, path: string, body?: object) => {
      const reply = ask(api, method, path, body === undefined ? {} : { body })
      await quiet(api)
      await finish()
      return (await reply).body
    }
    const { uid } = (await write('POST', configMaps, configMap('owner')))['metadata'] as Metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
    await write('POST', configMaps, configMap({ name: 'a', ownerReferences }))
    await write('DELETE', `${configMaps}/owner`)
    // The collector is at work, and comes to nothing.
    await finish(problem('EIO'))
    expect(await read(api, `${configMaps}/a`)).toBe(200)
    await clock.advance(1000)
    await finish()
    await finish()
    expect(await read(api, `${configMaps}/a`)).toBe(404)
  })
})
