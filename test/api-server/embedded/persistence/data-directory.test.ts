/** A server with a data directory: its state after a restart, and the checks and locks of the directory. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, startServer } from 'kopf/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { crd, crdsPath } from '../../../support/crds.ts'
import { ask, InProcessWatch } from '../../../support/in-process.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { configMap, namespace, object } from '../../../support/objects.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const widgets = '/apis/example.com/v1/namespaces/default/widgets'

let dataDir: string
beforeEach(() => {
  dataDir = join(mkdtempSync(join(tmpdir(), 'kopf-data-test-')), 'data')
})
afterEach(() => rmSync(join(dataDir, '..'), { recursive: true, force: true }))

/** Runs a server from its start to its stop. */
async function life<T>(live: (api: ApiServer) => Promise<T>, options: { clock?: ManualClock } = {}): Promise<T> {
  const api = await ApiServer.open({ dataDir, ...options })
  try {
    return await live(api)
  } finally {
    await api.close()
  }
}

const get = (api: ApiServer, path: string) => ask(api, 'GET', path)
const create = async (api: ApiServer, path: string, body: object) => {
  const reply = await ask(api, 'POST', path, { body })
  expect(reply.status).toBe(201)
  return reply.body as unknown as Made
}

interface Made {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
  readonly spec?: object
}

async function namesAt(api: ApiServer, path: string): Promise<string[]> {
  return ((await get(api, path)).body['items'] as Made[]).map(({ metadata }) => metadata.name)
}

describe('restored state', () => {
  test('a restarted server restores roles and the tokens of service accounts', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    const options = { dataDir, authorization: 'rbac' as const }
    const first = await ApiServer.open(options)
    await create(first, '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } })
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }]
    await create(first, `${rbac}/roles`, { metadata: { name: 'reader' }, rules })
    await create(first, `${rbac}/rolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'default' }],
    })
    const headers = { authorization: `Bearer ${first.issueToken({ serviceAccount: 'robot' })}` }
    await first.close()
    const second = await ApiServer.open(options)
    expect((await ask(second, 'GET', configMaps, { headers })).status).toBe(200)
    expect((await ask(second, 'GET', '/api/v1/namespaces/default/secrets', { headers })).status).toBe(403)
    await second.close()
  })

  test('a restarted server restores objects byte for byte, with uids and resource versions', async () => {
    const before = await life(async (api) => {
      await create(api, configMaps, configMap('kept', { data: { text: 'Grüße, \u2028 世界' } }))
      await create(api, configMaps, configMap('changed', { data: { key: 'old' } }))
      await ask(api, 'PATCH', `${configMaps}/changed`, { body: { data: { key: 'new' } } })
      await create(api, configMaps, configMap('gone'))
      await ask(api, 'DELETE', `${configMaps}/gone`)
      return (await get(api, configMaps)).text
    })
    await life(async (api) => expect((await get(api, configMaps)).text).toBe(before))
    await life(async (api) => expect((await get(api, configMaps)).text).toBe(before))
  })

  test('a restarted server restores CRDs and custom objects, with the defaults of the schema', async () => {
    const spec = { type: 'object', properties: { size: { type: 'integer', default: 3 } }, default: {} }
    const definition = crd({ group: 'example.com', kind: 'Widget', schema: { type: 'object', properties: { spec } } })
    const before = await life(async (api) => {
      await create(api, crdsPath, definition)
      await create(api, widgets, object('example.com/v1', 'Widget', 'one', { spec: {} }))
      return (await get(api, `${widgets}/one`)).text
    })
    await life(async (api) => {
      expect((await get(api, `${widgets}/one`)).text).toBe(before)
      expect((await create(api, widgets, object('example.com/v1', 'Widget', 'two'))).spec).toEqual({ size: 3 })
      const wrong = object('example.com/v1', 'Widget', 'wrong', { spec: { size: 'large' } })
      expect((await ask(api, 'POST', widgets, { body: wrong })).status).toBe(422)
    })
  })

  test('a restarted server restores integers of 64 bits', async () => {
    const body =
      '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"big"},"spec":{"n":9007199254740993}}'
    await life(async (api) => {
      await create(api, crdsPath, crd({ group: 'example.com', kind: 'Widget' }))
      expect((await ask(api, 'POST', widgets, { body })).status).toBe(201)
    })
    await life(async (api) => expect((await get(api, `${widgets}/big`)).text).toContain('"n":9007199254740993'))
  })

  test('a restarted server calls restored webhooks from the first request on', async () => {
    const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    await life((api) =>
      create(api, hooks, {
        metadata: { name: 'strict' },
        webhooks: [
          {
            name: 'strict.example.com',
            clientConfig: { url: 'https://127.0.0.1:1/' },
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
            rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
          },
        ],
      }),
    )
    await life(async (api) => {
      const { status, body } = await ask(api, 'POST', configMaps, { body: configMap('refused') })
      expect({ status, message: body['message'] }).toEqual({ status: 500, message: expect.stringContaining('strict') })
    })
  })

  test('a restarted server creates deleted system namespaces again, and no other deleted namespaces', async () => {
    await life(async (api) => {
      await create(api, '/api/v1/namespaces', namespace('mine'))
      for (const name of ['mine', 'kube-public']) await ask(api, 'DELETE', `/api/v1/namespaces/${name}`)
    })
    await life(async (api) => {
      expect(await namesAt(api, '/api/v1/namespaces')).toEqual([
        'default',
        'kube-node-lease',
        'kube-public',
        'kube-system',
      ])
    })
  })
})

describe('resource versions', () => {
  test('resource versions continue after a restart', async () => {
    const last = await life(async (api) => (await create(api, configMaps, configMap('a'))).metadata.resourceVersion)
    const next = await life(async (api) => (await create(api, configMaps, configMap('b'))).metadata.resourceVersion)
    expect(Number(next)).toBe(Number(last) + 1)
  })

  test('a watch resumes over a restart without missing or repeated events', async () => {
    const { resourceVersion } = (await life((api) => create(api, configMaps, configMap('a')))).metadata
    await life(async (api) => {
      await create(api, configMaps, configMap('b'))
      await ask(api, 'DELETE', `${configMaps}/a`)
    })
    await life(async (api) => {
      const watch = await InProcessWatch.open(api, `${configMaps}?resourceVersion=${resourceVersion}`)
      await create(api, configMaps, configMap('c'))
      expect([await watch.next(), await watch.next(), await watch.next()]).toEqual(['ADDED b', 'DELETED a', 'ADDED c'])
      await watch.leave()
    })
  })

  test('a list at a future resourceVersion waits after a restart', async () => {
    await life((api) => create(api, configMaps, configMap('a')))
    await life(async (api) => {
      const { status } = await get(api, `${configMaps}?resourceVersion=${Number(api.version) + 1}`)
      expect(status).toBe(504)
    })
  })
})

test('events expire an hour after their last timestamp, also over a restart', async () => {
  const clock = new ManualClock()
  const events = '/api/v1/namespaces/default/events'
  const event = (name: string, more: object = {}) => ({
    metadata: { name },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'web' },
    ...more,
  })
  const at = (minutes: number) => new Date(clock.now() + minutes * 60_000).toISOString().replace('.000', '')
  const names = (api: ApiServer) => namesAt(api, events)
  await life(
    async (api) => {
      await create(api, events, event('old'))
      await create(api, events, event('renewed'))
      const later = { count: 2, lastTimestamp: at(40) }
      await clock.advance(40 * 60_000)
      await ask(api, 'PATCH', `${events}/renewed`, { body: later })
    },
    { clock },
  )
  await life(async (api) => expect(await names(api)).toEqual(['old', 'renewed']), { clock })
  await clock.advance(25 * 60_000)
  await life(async (api) => expect(await names(api)).toEqual(['renewed']), { clock })
})

describe('kubeconfigs', () => {
  test('a kubeconfig stays valid over a restart: the token and the certificate authority', async () => {
    const first = await startServer({ dataDir })
    await first.stop()
    await using second = await startServer({ dataDir, port: Number(new URL(first.url).port) })
    expect(second.kubeconfig).toBe(first.kubeconfig)
  })

  test('a kubeconfig is not valid for another data directory', async () => {
    const first = await startServer({ dataDir })
    await first.stop()
    await using second = await startServer({ dataDir: `${dataDir}-2` })
    expect(second.token).not.toBe(first.token)
    expect(second.ca).not.toBe(first.ca)
  })
})

describe('the data directory', () => {
  test('the data directory is created with access for its owner only', async () => {
    await (await startServer({ dataDir })).stop()
    expect(statSync(dataDir).mode & 0o777).toBe(0o700)
    const modes = readdirSync(dataDir).map((name) => statSync(join(dataDir, name)).mode & 0o777)
    expect(new Set(modes)).toEqual(new Set([0o600]))
  })

  test('an existing empty directory is accepted as a data directory', async () => {
    mkdirSync(dataDir, { mode: 0o755 })
    await life((api) => create(api, configMaps, configMap('a')))
    expect(statSync(dataDir).mode & 0o777).toBe(0o700)
  })

  test('a directory with other files is refused and left unchanged', async () => {
    mkdirSync(dataDir, { mode: 0o755 })
    writeFileSync(join(dataDir, 'thesis.txt'), 'Chapter 1')
    await expect(ApiServer.open({ dataDir })).rejects.toMatchObject({
      code: 'KOPF_SERVER_DATA',
      message: `Cannot use the data directory "${dataDir}": it holds "thesis.txt" and is none of this server's; name a new directory, or an empty one`,
    })
    expect(readdirSync(dataDir)).toEqual(['thesis.txt'])
    expect(statSync(dataDir).mode & 0o777).toBe(0o755)
  })

  test('a file is refused as a data directory', async () => {
    writeFileSync(dataDir, '')
    await expect(ApiServer.open({ dataDir })).rejects.toThrow('it is no directory; name another one')
  })

  test('a data directory of a newer format is refused with a remedy', async () => {
    await life(async () => {})
    const marker = join(dataDir, 'kopf-data')
    writeFileSync(marker, readFileSync(marker, 'utf8').replace('format 1', 'format 2'))
    await expect(ApiServer.open({ dataDir })).rejects.toThrow(
      'it is of format 2, and this version of kopf knows format 1 and older; use the version that has written it, or name another directory',
    )
  })

  test('a data directory is used by one server at a time', async () => {
    const first = await ApiServer.open({ dataDir })
    await expect(ApiServer.open({ dataDir })).rejects.toThrow(
      `the server of process ${process.pid} uses it; stop that one, or name another directory`,
    )
    await first.close()
    await life(async () => {})
  })

  test('a data directory is unlocked when startServer cannot listen', async () => {
    const taken = await startServer()
    const port = Number(new URL(taken.url).port)
    await expect(startServer({ dataDir, port })).rejects.toThrow('Cannot listen')
    await life(async () => {})
    await taken.stop()
  })

  test('the lock of a dead process does not block a data directory', async () => {
    await life(async () => {})
    // A process id that is not in use, and one that is in use by a later process.
    for (const identity of ['4194399-17', `${process.pid}-17`])
      writeFileSync(join(dataDir, `lock-${identity}-00c0ffee`), '')
    await life(async () => {})
    expect(readdirSync(dataDir).filter((name) => name.startsWith('lock-'))).toEqual([])
  })

  test('the lock of a server in another container counts while it is touched, whatever its process id', async () => {
    await life(async () => {})
    const foreign = join(dataDir, `lock-${process.pid}-17-00000000abcd-00c0ffee`)
    writeFileSync(foreign, '.')
    await expect(ApiServer.open({ dataDir })).rejects.toThrow('a server of another container or machine uses it')
    expect(existsSync(foreign)).toBe(true)
    // A lock that was not touched for more than a minute is stale.
    const before = Date.now() / 1000 - 61
    utimesSync(foreign, before, before)
    await life(async () => {})
    expect(existsSync(foreign)).toBe(false)
  })

  test('a server without a data directory creates none', async () => {
    await (await startServer()).stop()
    expect(existsSync(dataDir)).toBe(false)
  })
})
