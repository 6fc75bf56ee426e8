/** Parts of the API that fail: an aggregated API whose server is down, a conversion that fails. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import type { Tree } from '../support/answers.ts'
import { useLab } from '../support/lab.ts'
import { type Recording, refusal } from '../support/recording.ts'

const lab = useLab()
const { group } = lab
const broken = `broken.${group}`

/** Adds an aggregated API whose server is down until `heal` is called, as discovery shows it. */
function breakApi(transport: Recording, resources: readonly Tree[]): { heal(): void; looks(): number } {
  let isBroken = true
  const version = () => ({
    version: 'v1',
    freshness: isBroken ? 'Stale' : 'Current',
    ...(isBroken ? {} : { resources }),
  })
  transport.meddle = async ({ path }, send) => {
    if (path === `/apis/${broken}/v1` && isBroken) return refusal(503)
    if (path === `/apis/${broken}`) return json({ name: broken, versions: [{ version: 'v1' }] })
    if (path === `/apis/${broken}/v1`) return json({ resources: resources.map(toListed) })
    // The API has no objects: once it works again, it answers 404.
    if (path.startsWith(`/apis/${broken}/v1/`)) return isBroken ? refusal(503) : refusal(404)
    const response = await send()
    if (path !== '/apis') return response
    const document = JSON.parse(await textOf(response.body)) as { items: Tree[] }
    document.items.push({ metadata: { name: broken }, versions: [version()] })
    return { ...response, body: json(document).body }
  }
  return {
    heal: () => {
      isBroken = false
    },
    looks: () => transport.requests.filter(({ path }) => path === `/apis/${broken}/v1`).length,
  }
}

function toListed({ resource, responseKind, scope, verbs }: Tree): Tree {
  return { name: resource, kind: (responseKind as Tree)['kind'], namespaced: scope === 'Namespaced', verbs }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function json(document: unknown) {
  const body = (async function* () {
    yield Buffer.from(JSON.stringify(document))
  })()
  return { status: 200, headers: { 'content-type': 'application/json' }, body }
}

const metrics: Tree = {
  resource: 'measures',
  responseKind: { group: broken, version: 'v1', kind: 'Measure' },
  scope: 'Namespaced',
  singularResource: 'measure',
  verbs: ['get', 'list', 'watch', 'patch'],
}

test('a broken aggregated API without handlers does not disturb the operator, and is not discovered again', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ({ name }) => void seen.push(name))
  const transport = lab.record()
  const api = breakApi(transport, [metrics])
  await lab.start(kopf, { transport })
  await lab.create('unconcerned')
  await lab.until(() => seen.includes('unconcerned'))
  await lab.elapse(3)
  expect(api.looks()).toBe(0)
})

test('a broken aggregated API with handlers is logged once, retried, and served once it works', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ({ name }) => void seen.push(name))
  kopf.on.event([broken, 'measures'], ({ name }) => void seen.push(name))
  const transport = lab.record()
  const api = breakApi(transport, [metrics])
  await lab.start(kopf, { transport })
  await lab.create('meanwhile')
  await lab.until(() => seen.includes('meanwhile'))
  await lab.elapse(lab.isReal ? 4 : 60)
  const named = lab.logs.filter((line) => line.includes(`The API ${broken}/v1 does not say what it serves`))
  expect(named).toHaveLength(1)
  expect(api.looks()).toBeGreaterThan(1)
  expect(api.looks()).toBeLessThan(10)
  api.heal()
  await lab.until(() => transport.requests.some(({ path }) => path.endsWith('/measures')))
})

test('a resource whose conversion fails does not stop the others, and recovers', async () => {
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ({ name }) => void seen.push(`widget ${name}`))
  kopf.on.create(['v1', 'configmaps'], ({ name }) => void seen.push(`map ${name}`))
  const transport = lab.record()
  let isBroken = true
  transport.meddle = (request, send) =>
    isBroken && request.path.endsWith('/widgets') ? Promise.resolve(refusal(500)) : send()
  const starting = lab.start(kopf, { transport })
  starting.catch(() => {})
  await lab.create('unconverted')
  const maps = `/api/v1/namespaces/${lab.namespace}/configmaps`
  await lab.call('POST', maps, { metadata: { name: 'unharmed' } })
  await lab.until(() => seen.includes('map unharmed'))
  await lab.until(() => lab.logs.some((line) => /watch-stream of widgets.* has failed/.test(line)))
  expect(seen).not.toContain('widget unconverted')
  isBroken = false
  await lab.until(() => seen.includes('widget unconverted'))
  await starting
})
