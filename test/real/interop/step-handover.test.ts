/** Steps exist only in this package: Kopf must ignore and purge their records, and this package must find them after Kopf. */
import { beforeAll, expect, inject, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import type { Body } from '../../support/answers.ts'
import { useCluster } from '../../support/cluster.ts'
import {
  isHandled,
  type Language,
  leftovers,
  Objects,
  progressOf,
  resultOf,
  startOperator,
  useKopf,
} from './paired-operators.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
})

class Stage {
  readonly namespace: string
  readonly widgets: Objects

  constructor(namespace: string) {
    const path = `/apis/${cluster.group}/v1/namespaces/${namespace}/widgets`
    this.namespace = namespace
    this.widgets = new Objects(cluster.api, path, { apiVersion: `${cluster.group}/v1`, kind: 'Widget' })
  }

  start(language: Language, phase: 'first' | 'second', name: string): Promise<OperatorProcess> {
    const env = { GROUP: cluster.group, PHASE: phase, NAME: name }
    const { namespace } = this
    return startOperator(language, { name: 'step-handlers', namespace, kubeconfig: real.kubeconfigs.operator, env })
  }

  /** This package starts the handling, and is stopped when all steps are done and the handlers are not. */
  async begin(): Promise<Body> {
    await using beginner = await this.start('ours', 'first', 'the first')
    await this.widgets.create('object')
    await this.widgets.until('object', beginner, isHalfWay)
    await beginner.stop()
    return this.widgets.get('object')
  }
}

const stepsOf = (body: Body): string[] => leftovers(body).filter((name) => /bucket|schedule|inner/.test(name))

const isHalfWay = (body: Body): boolean =>
  stepsOf(body).length >= 3 && ['backups', 'family', 'plain'].every((id) => (progressOf(body, id)?.retries ?? 0) >= 1)

/** Kopf writes the object first, and then the status. */
const isFinished = (body: Body): boolean =>
  isHandled(body) &&
  leftovers(body).length === 0 &&
  ['backups', 'plain'].every((id) => resultOf(body, id) !== undefined)

async function openStage(name: string): Promise<Stage> {
  return new Stage(await cluster.createNamespace(name))
}

test('Python’s Kopf continues a handler with steps by its own progress, and purges the step records', async () => {
  const stage = await openStage('ours-python')
  const left = await stage.begin()
  await using operator = await stage.start('python', 'second', 'the second')
  const body = await stage.widgets.until('object', operator, isFinished)
  for (const id of ['backups', 'plain']) {
    expect(resultOf(body, id)).toEqual({ by: 'python', retry: progressOf(left, id)!.retries })
  }
  expect(operator.output).not.toMatch(/Traceback|Error:/)
}, 60_000)

test('step results survive retries by Python’s Kopf in between', async () => {
  const stage = await openStage('ours-python-ours')
  const left = await stage.begin()
  const before = progressOf(left, 'backups')!
  await using between = await stage.start('python', 'first', 'the second')
  await stage.widgets.until('object', between, (one) => progressOf(one, 'backups')!.retries >= before.retries + 2)
  await between.stop()
  expect(stepsOf(await stage.widgets.get('object')).sort()).toEqual(stepsOf(left).sort())
  await using operator = await stage.start('ours', 'second', 'the third')
  const body = await stage.widgets.until('object', operator, isFinished)
  expect(resultOf(body, 'backups')).toMatchObject({ by: 'ours', bucket: { made: 'the first', by: ['ours', null] } })
}, 60_000)

test('Python’s Kopf deletes an object with unfinished steps', async () => {
  const stage = await openStage('ours-python-delete')
  await stage.begin()
  await stage.widgets.delete('object')
  await using operator = await stage.start('python', 'second', 'the second')
  await stage.widgets.untilGone('object', operator)
  expect(operator.output).not.toMatch(/Traceback|Error:/)
}, 60_000)

test('the TypeScript operator continues a handler of Python’s Kopf, and runs all steps', async () => {
  const stage = await openStage('python-ours')
  await using beginner = await stage.start('python', 'first', 'the first')
  await stage.widgets.create('object')
  await stage.widgets.until('object', beginner, (one) => (progressOf(one, 'backups')?.retries ?? 0) >= 2)
  await beginner.stop()
  const { retries } = progressOf(await stage.widgets.get('object'), 'backups')!
  await using operator = await stage.start('ours', 'second', 'the second')
  const body = await stage.widgets.until('object', operator, isFinished)
  expect(resultOf(body, 'backups')).toEqual({
    by: 'ours',
    bucket: { made: 'the second', by: ['ours', null] },
    retry: retries,
  })
}, 60_000)
