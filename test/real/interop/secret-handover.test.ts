/**
 * Handovers of Secrets between Python's Kopf and this package, with both settings of `persistence.secretValues`. Kopf stores the values
 * in clear text; this package stores digests by default, which Kopf treats as different values.
 */
import { expect, inject, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import { useCluster } from '../../support/cluster.ts'
import { expectStatus } from '../../support/expectations.ts'
import { annotationsOf, isHandled, leftovers, Objects, startOperator, useKopf } from './paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

type Who = 'python' | 'digest' | 'plain'

/** One Secret, which several operators handle one after the other. */
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

  /** Runs an operator until the Secret is handled, with an optional change, and returns its handler calls. */
  async play(who: Who, change?: string): Promise<string[]> {
    await using operator = await startOperator(who === 'python' ? 'python' : 'ours', {
      name: 'secret-handlers',
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

  /** Waits until creation or resume handlers were called and no progress is left. */
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
  'a Secret of Python’s Kopf is not handled again with secretValues "%s", and its next change is detected',
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

test('a Secret passes between secretValues "plain" and Python’s Kopf without extra calls', async () => {
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

test('Python’s Kopf sees one update with the digest as old value after secretValues "digest", and no more', async () => {
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
