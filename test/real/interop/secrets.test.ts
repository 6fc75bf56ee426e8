/**
 * Secrets in the hands of Python's Kopf and of ours, in both directions and with both settings of `persistence.secretValues`. Kopf stores
 * the values in clear; ours stores digests by default, and Kopf takes a digest for another value.
 */
import { expect, inject, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import { useCluster } from '../../support/cluster.ts'
import { expectStatus } from '../../support/expectations.ts'
import { annotationsOf, isHandled, leftovers, Objects, startOperator, useKopf } from './support.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

type Who = 'python' | 'digest' | 'plain'

/** One Secret, and the operators that have it one after the other. */
class Story {
  readonly #namespace: string
  readonly #secrets: Objects

  private constructor(namespace: string) {
    this.#namespace = namespace
    const path = `/api/v1/namespaces/${namespace}/secrets`
    this.#secrets = new Objects(cluster.api, path, { apiVersion: 'v1', kind: 'Secret' })
  }

  static async begin(prefix: string): Promise<Story> {
    const namespace = await cluster.createNamespace(prefix)
    const metadata = { name: 'one', labels: { case: 'secrets' } }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: { password: 'b25l' } }
    expectStatus(await cluster.api.post(`/api/v1/namespaces/${namespace}/secrets`, secret), 201)
    return new Story(namespace)
  }

  /** The calls of one operator from its start, through a change if there is one, until all of it is handled. */
  async play(who: Who, change?: string): Promise<string[]> {
    await using operator = await startOperator(who === 'python' ? 'python' : 'ours', {
      name: 'secrets',
      namespace: this.#namespace,
      kubeconfig: real.kubeconfigs.operator,
      env: { MODE: who },
    })
    await this.#untilQuiet(operator)
    if (change !== undefined) {
      await this.#secrets.patch('one', { data: { password: change } })
      await operator.until((output) => output.includes(`field update`) && output.includes(`updated update`))
      await this.#untilQuiet(operator)
    }
    await operator.stop()
    return [...operator.output.matchAll(/called one (.*?);/g)].map(([, call]) => call!).sort()
  }

  async stored(): Promise<string> {
    const text = annotationsOf(await this.#secrets.get('one'))['kopf.zalando.org/last-handled-configuration']!
    return JSON.parse(text).data.password
  }

  /** Handlers of creations or resuming were called, and nothing is under way. */
  async #untilQuiet(operator: OperatorProcess): Promise<void> {
    await operator.until((output) => /called one (created|resumed)/.test(output))
    await this.#secrets.until('one', operator, (body) => isHandled(body) && leftovers(body).length === 0)
  }
}

const digest = /^sha256:[0-9a-f]{16}$/

test.each<[Who, string]>([
  ['digest', '[concealed]'],
  ['plain', 'b25l'],
])(
  'python, then ours with "%s": it goes on in silence, and knows the next change',
  async (who, old) => {
    const story = await Story.begin(`python-${who}`)
    expect(await story.play('python')).toEqual(['created create None b25l', 'field create None b25l'])
    expect(await story.stored()).toBe('b25l')
    expect(await story.play(who)).toEqual(['resumed resume None b25l'])
    expect(await story.play(who, 'dHdv')).toEqual([
      `field update ${old} dHdv`,
      'resumed resume None b25l',
      `updated update ${old} dHdv`,
    ])
  },
  60_000,
)

test('ours with "plain", then python, and back: both go on in silence, with the same calls', async () => {
  const story = await Story.begin('plain-python')
  expect(await story.play('plain')).toEqual(['created create None b25l', 'field create None b25l'])
  expect(await story.stored()).toBe('b25l')
  expect(await story.play('python')).toEqual(['resumed resume None b25l'])
  expect(await story.play('plain', 'dHdv')).toEqual([
    'field update b25l dHdv',
    'resumed resume None b25l',
    'updated update b25l dHdv',
  ])
  expect(await story.play('python')).toEqual(['resumed resume None dHdv'])
}, 60_000)

test('ours with "digest", then python: Kopf sees one update, with the digest for the old value, and no more', async () => {
  const story = await Story.begin('digest-python')
  expect(await story.play('digest')).toEqual(['created create None b25l', 'field create None b25l'])
  const stored = await story.stored()
  expect(stored).toMatch(digest)
  expect(await story.play('python')).toEqual([
    `field update ${stored} b25l`,
    'resumed update None b25l',
    `updated update ${stored} b25l`,
  ])
  expect(await story.stored()).toBe('b25l')
  expect(await story.play('python')).toEqual(['resumed resume None b25l'])
  expect(await story.play('digest')).toEqual(['resumed resume None b25l'])
}, 60_000)
