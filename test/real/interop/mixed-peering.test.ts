/**
 * Operators of Python's Kopf and of this package in one peering: they pause for each other, with the same records and commands. The pair
 * of two Python operators is the control: a failure there is an error of the test. The audit log shows which operator watches.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import type { Tree } from '../../support/answers.ts'
import { type Language, resultOf, useKopf } from './paired-operators.ts'
import { PeeringPlane, SharedPeering } from './shared-peering.ts'

useKopf()
let plane: PeeringPlane

beforeAll(async () => {
  plane = await PeeringPlane.start()
})

afterAll(async () => {
  await plane?.[Symbol.asyncDispose]()
})

const pausing = 'Pausing operations in favour of ['
const resuming = 'Resuming operations after the pause.'

/** How often the output contains the text. */
const count = (operator: OperatorProcess, text: string) => operator.output.split(text).length - 1

const untilCount = (operator: OperatorProcess, text: string, times: number) =>
  operator.until(() => count(operator, text) >= times)

async function untilHandledBy(
  world: SharedPeering,
  name: string,
  operator: OperatorProcess,
  by: Language,
): Promise<void> {
  await world.widgets.create(name)
  const body = await world.widgets.until(name, operator, (one) => resultOf(one, 'handle') !== undefined)
  expect(resultOf(body, 'handle')).toEqual({ by })
}

const byPriority = (records: Tree) =>
  (Object.values(records) as Array<{ priority: number }>).toSorted((a, b) => a.priority - b.priority)

/** After half a second for pending requests, the operator must neither list nor watch nor tick. */
async function expectStandstill(world: SharedPeering, operator: OperatorProcess, language: Language): Promise<void> {
  await world.looksOf(language, 500)
  const ticks = count(operator, 'tick')
  expect(await world.looksOf(language, 1500)).toEqual([])
  expect(count(operator, 'tick')).toBe(ticks)
}

const strangers: ReadonlyArray<readonly [Language, Language]> = [
  ['python', 'ours'],
  ['ours', 'python'],
]

describe.each([
  { group: 'kopf.dev', pairs: [['python', 'python'] as const, ...strangers] },
  { group: 'zalando.org', pairs: strangers },
])('peerings in $group', ({ group, pairs }) => {
  beforeAll(() => plane.install(group))
  afterAll(() => plane.uninstall(group))

  test.each(pairs)(
    'an operator of %s pauses while one of %s with a higher priority runs, until that one stops or is killed',
    { timeout: 120_000 },
    async (low, high) => {
      await using world = await SharedPeering.create(plane, { group, clusterwide: false })
      const weak = await world.start(low, 10)
      await weak.until((output) => output.includes(resuming))
      await untilHandledBy(world, 'one', weak, low)
      await untilCount(weak, 'tick', 2)

      const strong = await world.start(high, 100)
      await untilCount(weak, pausing, 1)
      if (low !== high) await expectStandstill(world, weak, low)
      await untilHandledBy(world, 'two', strong, high)
      expect(weak.output).not.toContain('handled two')
      expect(byPriority(await world.records())).toEqual([
        expect.objectContaining({ priority: 10, lifetime: 60, lastseen: expect.stringMatching(/\+00:00$/) }),
        expect.objectContaining({ priority: 100, lifetime: 60, lastseen: expect.stringMatching(/\+00:00$/) }),
      ])

      await strong.stop()
      await untilCount(weak, resuming, 2)
      await untilHandledBy(world, 'three', weak, low)
      const ticks = count(weak, 'tick')
      await untilCount(weak, 'tick', ticks + 2)

      const doomed = await world.start(high, 100, 7)
      await untilCount(weak, pausing, 2)
      await doomed.kill()
      await untilCount(weak, resuming, 3)
      await untilHandledBy(world, 'four', weak, low)
      expect(Object.values(await world.records())).toEqual([expect.objectContaining({ priority: 10 })])
      expect(count(weak, 'taken one')).toBe(0)
      await weak.stop()
      expect(await world.records()).toEqual({})
    },
  )

  test('two operators of the same priority both pause and log the conflict', { timeout: 60_000 }, async () => {
    await using world = await SharedPeering.create(plane, { group, clusterwide: false })
    const operators = [await world.start('python', 5), await world.start('ours', 5)]
    for (const operator of operators) {
      await operator.until((output) =>
        output.includes('Possibly conflicting operators with the same priority: [<Peer '),
      )
    }
    for (const language of ['python', 'ours'] as const) expect(await world.looksOf(language, 1000)).toEqual([])
    await world.widgets.create('nobodys')
    const [python, ours] = operators as [OperatorProcess, OperatorProcess]
    await python.stop()
    await world.widgets.until('nobodys', ours, (body) => resultOf(body, 'handle')?.['by'] === 'ours')
    expect(python.output).not.toContain('handled nobodys')
  })
})

describe('freeze and resume', () => {
  beforeAll(() => plane.install('kopf.dev'))
  afterAll(() => plane.uninstall('kopf.dev'))

  const commands: ReadonlyArray<readonly [Language, Language, Language, boolean]> = [
    ['python', 'python', 'python', false],
    ['python', 'ours', 'ours', false],
    ['ours', 'python', 'python', false],
    ['ours', 'python', 'ours', true],
    ['python', 'ours', 'python', true],
  ]

  test.each(commands)(
    'an operator of %s is paused by the freeze of %s, and resumed by the resume of %s (clusterwide: %s)',
    { timeout: 90_000 },
    async (language, freezer, resumer, clusterwide) => {
      await using world = await SharedPeering.create(plane, { group: 'kopf.dev', clusterwide })
      const operator = await world.start(language, 0)
      await untilCount(operator, resuming, 1)
      await untilHandledBy(world, 'one', operator, language)
      const frozen = await world.command(freezer, 'freeze', '--lifetime', '600')
      expect(frozen.ended, frozen.output).toBe('status 0')
      await untilCount(operator, pausing, 1)
      await world.widgets.create('two')
      await expectStandstill(world, operator, language)
      const record = Object.values(await world.records()).find((one) => (one as { priority: number }).priority === 100)
      expect(record).toMatchObject({ lifetime: 600 })
      const resumed = await world.command(resumer, 'resume')
      expect(resumed.ended, resumed.output).toBe('status 0')
      await untilCount(operator, resuming, 2)
      await world.widgets.until('two', operator, (body) => resultOf(body, 'handle')?.['by'] === language)
      expect(Object.keys(await world.records())).toHaveLength(1)
    },
  )

  test.each<Language>(['python', 'ours'])(
    'kopf freeze of %s sets the id, the priority and the lifetime',
    { timeout: 60_000 },
    async (language) => {
      await using world = await SharedPeering.create(plane, { group: 'kopf.dev', clusterwide: false })
      const operator = await world.start('ours', 200)
      await untilHandledBy(world, 'one', operator, 'ours')
      const options = ['--id', 'me', '-t', '3', '-m', 'because']
      await world.command(language, 'freeze', ...options)
      expect(await world.records()).toMatchObject({ me: { priority: 100, lifetime: 3 } })
      await untilHandledBy(world, 'two', operator, 'ours')
      await world.command(language, 'freeze', ...options, '--dev')
      await untilCount(operator, pausing, 1)
      await world.widgets.create('three')
      await untilCount(operator, resuming, 2)
      await world.widgets.until('three', operator, (body) => resultOf(body, 'handle') !== undefined)
      expect(await world.records()).not.toHaveProperty('me')
    },
  )

  test('kopf freeze of Kopf succeeds without the peering object, and that of ours fails with its name', async () => {
    await using world = await SharedPeering.create(plane, { group: 'kopf.dev', clusterwide: false })
    await plane.api.delete(world.path)
    const python = await world.command('python', 'freeze', '--lifetime', '600')
    expect(python.ended, python.output).toBe('status 0')
    const ours = await world.command('ours', 'freeze', '--lifetime', '600')
    expect(ours.ended, ours.output).toBe('status 1')
    expect(ours.output).toContain(world.name)
  })
})

test.each<Language>(['python', 'ours'])('kopf freeze of %s fails without the peering CRDs', async (language) => {
  await plane.install('kopf.dev')
  const world = await SharedPeering.create(plane, { group: 'kopf.dev', clusterwide: false })
  await plane.uninstall('kopf.dev')
  const frozen = await world.command(language, 'freeze', '--lifetime', '600')
  expect(frozen.ended, frozen.output).toBe('status 1')
  if (language === 'ours') expect(frozen.output).toContain('kubectl apply -f node_modules/kopf/peering.yaml')
})
