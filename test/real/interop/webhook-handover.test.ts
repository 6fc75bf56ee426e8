/**
 * One operator is killed and leaves its webhook configurations, another takes them over: Python's Kopf and this package with the same
 * handlers under the same name, on a real control plane, in both directions.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Answer, Tree } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import { expectStatus } from '../../support/expectations.ts'
import { type Language, useKopf } from './paired-operators.ts'
import { type Serving, startServing } from './webhook-servers.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
})

const kinds = ['validating', 'mutating'] as const
const pathOf = (kind: string, name: string) =>
  `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/${name}`

type Webhook = Tree & { readonly name: string; readonly clientConfig: { readonly url: string } }

const pairs: ReadonlyArray<readonly [Language, Language]> = [
  ['python', 'ours'],
  ['ours', 'python'],
]

describe.each(pairs)('%s killed, then %s started', (first, second) => {
  const managed = `m${randomBytes(4).toString('hex')}.kopf.dev`
  const servings: Serving[] = []
  let namespace: string
  /** The webhooks after the end of the first operator. */
  let left: Webhook[]
  let orphaned: Answer

  const start = async (language: Language): Promise<Serving> => {
    const { group } = cluster
    const serving = await startServing(language, {
      namespace,
      group,
      managed,
      kubeconfig: real.kubeconfigs.operator,
    })
    servings.push(serving)
    await untilStamped(language)
    return serving
  }

  const create = (name: string, labels: Tree, spec: Tree, query = {}): Promise<Answer> => {
    const body = { apiVersion: `${cluster.group}/v1`, kind: 'Widget', metadata: { name, labels }, spec }
    return cluster.api.post(`/apis/${cluster.group}/v1/namespaces/${namespace}/widgets`, body, { query })
  }
  const probe = (labels: Tree = {}, spec: Tree = { size: 1 }) => create('probe', labels, spec, { dryRun: 'All' })

  /** Repeats a request until its answer matches: the API server learns of a configuration with a delay. */
  async function until(isSo: (answer: Answer) => boolean): Promise<void> {
    for (const deadline = Date.now() + 30_000; ; await sleep(50)) {
      const answer = await probe()
      if (isSo(answer)) return
      if (Date.now() > deadline) throw new Error(`Never so: ${answer.text}\n${servings.at(-1)!.operator.output}`)
    }
  }
  const stampOf = ({ body }: Answer) => body.metadata?.labels?.['by']
  const untilStamped = (by: Language) => until((answer) => answer.status === 201 && stampOf(answer) === by)

  async function read(): Promise<Webhook[]> {
    const found = await Promise.all(kinds.map((kind) => cluster.api.get(pathOf(kind, managed))))
    return found.flatMap((answer) => (expectStatus(answer, 200)['webhooks'] ?? []) as Webhook[])
  }

  beforeAll(async () => {
    namespace = await cluster.createNamespace(`hooks-${first}`)
    const { operator } = await start(first)
    left = await read()
    await operator.kill()
    orphaned = await probe()
    await start(second)
  }, 90_000)

  afterAll(async () => {
    for (const { operator, clear } of servings) {
      await operator.stop()
      await clear()
    }
    for (const kind of kinds) await cluster.api.delete(pathOf(kind, managed))
  })

  test('webhooks of a killed operator refuse all requests', () => {
    expect(orphaned.status).toBe(500)
    expect(orphaned.body['message']).toContain(`failed calling webhook "stamp.${managed}"`)
  })

  test('the webhook configurations of both operators have the same entries', async () => {
    expect((await read()).map(withoutPlace)).toEqual(left.map(withoutPlace))
    expect(left.map(({ name }) => name)).toContain(`every3apart.of.it.${managed}`)
  })

  test('no webhook entry of the killed operator stays', async () => {
    const { url, caPem } = servings[1]!
    const now = await read()
    expect(now.filter(({ clientConfig }) => !clientConfig.url.startsWith(`${url}/`))).toEqual([])
    const bundles = now.map(({ clientConfig }) => (clientConfig as Tree)['caBundle'])
    expect(new Set(bundles)).toEqual(new Set([Buffer.from(caPem).toString('base64')]))
  })

  test('requests are answered by the running operator', async () => {
    const body = expectStatus(await create('made', {}, { size: 1 }), 201)
    expect(body.metadata.labels).toEqual({ by: second })
    const refused = await create('refused', {}, { size: 101 })
    expect([refused.status, refused.body['message']]).toEqual([
      422,
      `admission webhook "check-size.${managed}" denied the request: too large`,
    ])
    const picked = await probe({ stage: 'prod', owner: 'me', odd: '1' })
    expect(picked.status).toBe(409)
    expect((await probe({ stage: 'prod', odd: '1' })).status).toBe(201)
  })

  test('a handler for all subresources reviews the object and its status', async () => {
    const { metadata } = expectStatus(await create('parted', { case: 'part' }, { size: 1 }), 201)
    expect(metadata.annotations).toMatchObject({ part: 'seen' })
    const path = `/apis/${cluster.group}/v1/namespaces/${namespace}/widgets/parted/status`
    const refused = await cluster.api.mergePatch(path, { status: { phase: 'Bad' } })
    expect([refused.status, refused.body['message']]).toEqual([
      400,
      `admission webhook "statuses.${managed}" denied the request: a bad phase`,
    ])
    expectStatus(await cluster.api.mergePatch(path, { status: { phase: 'Good' } }), 200)
  })

  test('an operator that exits removes its webhooks, except persistent ones', async () => {
    await servings[1]!.operator.stop()
    expect((await read()).map(({ name }) => name)).toEqual([`stays.${managed}`])
    await until((answer) => answer.status === 201 && stampOf(answer) === undefined)
    expect((await probe({ case: 'stays' })).status).toBe(500)
  })
})

/** Replaces the address of a webhook by its path. */
function withoutPlace({ clientConfig, ...rest }: Webhook): Tree {
  return { ...rest, path: new URL(clientConfig.url).pathname }
}
