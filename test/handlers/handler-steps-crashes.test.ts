/** The operator dies before and after each API call, in the middle of handlers with steps; another process continues. */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { Random } from '../simulation/random.ts'
import { isHandled, recordsOf, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { refusal } from '../support/recording.ts'

const lab = useCleanLab()

interface Process {
  isDead: boolean
}

/** The side effects in their order, and the results that each attempt got. */
class Story {
  readonly effects: string[] = []
  readonly seen: string[] = []

  /** Records a side effect; a dead process has none. */
  act(process: Process, effect: string): string {
    if (process.isDead) throw new Error('This process is dead')
    this.effects.push(effect)
    return `${effect}#${this.effects.filter((one) => one === effect).length}`
  }
}

/** Three steps, two concurrent and one after them, in a handler and in a sub-handler; one failure in between. */
function createOperator(story: Story, process: Process): Operator {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [] } } })
  kopf.on.create(lab.widgets, { id: 'fn' }, async ({ retry, step, subhandler }) => {
    const a = await step('a', () => story.act(process, 'a'))
    const [b1, b2] = await Promise.all(['b1', 'b2'].map((id) => step(id, () => story.act(process, id))))
    if (retry === 0) throw new TemporaryError('not yet', { delay: 0.1 })
    const c = await step('c', () => story.act(process, `c(${a},${b1},${b2})`))
    subhandler('sub', async ({ step }) => {
      const d = await step('d', () => story.act(process, `d(${c})`))
      await step('e', () => story.act(process, `e(${d})`))
    })
  })
  return kopf
}

/** The outcome of an API call; the process may die before or after it. */
type Fate = 'done' | 'refused' | 'lost' | 'dies before' | 'dies after'

/** Starts a process with these outcomes of its calls. Resolves when the object is handled or the process is dead. */
async function run(story: Story, name: string, fateOf: (call: number) => Fate): Promise<number> {
  const process: Process = { isDead: false }
  const transport = lab.record()
  let calls = 0
  transport.meddle = async (request, send) => {
    if (process.isDead) throw new Error('This process is dead')
    if (!request.path.includes(`/${name}`)) return send()
    calls += 1
    const fate = fateOf(calls)
    if (fate === 'refused') return refusal(500)
    if (fate === 'dies before') process.isDead = true
    else if (fate !== 'done') await send()
    if (fate === 'dies after') process.isDead = true
    if (fate !== 'done') throw new Error('The answer is lost')
    return send()
  }
  const running = await lab.start(createOperator(story, process), { transport })
  await lab.until(async () => process.isDead || isHandled(await lab.get(name)))
  process.isDead = true
  await lab.stop(running).catch(() => {})
  return calls
}

const order = ['a', 'b', 'c', 'd', 'e']

function checkStory({ effects }: Story, body: Body): string[] {
  const wrong: string[] = []
  const letters = effects.map((effect) => effect[0]!)
  for (const [index, letter] of letters.entries()) {
    const later = letters.slice(index + 1).find((one) => order.indexOf(one) < order.indexOf(letter))
    if (later !== undefined) wrong.push(`${later} is done again after ${letter}`)
  }
  for (const letter of order) if (!letters.includes(letter)) wrong.push(`${letter} is never done`)
  // A later step gets the stored result of the previous one, which is that of its last execution.
  const times = (effect: string) => effects.filter((one) => one === effect).length
  const expected = `c(a#${times('a')},b1#${times('b1')},b2#${times('b2')})`
  if (effects.some((effect) => effect.startsWith('c') && effect !== expected)) wrong.push('c is told of another past')
  if (Object.keys(recordsOf(body)).length > 0) wrong.push(`left behind: ${Object.keys(recordsOf(body)).join(' ')}`)
  return wrong.map((what) => `${what} (${effects.join(' ')})`)
}

/** Runs one process after the other until the object is handled; the outcomes depend on the process and the call. */
async function play(name: string, fateOf: (process: number, call: number) => Fate) {
  const story = new Story()
  await lab.create(name)
  let calls = 0
  for (let process = 0; !isHandled(await lab.get(name)); process += 1) {
    calls += await run(story, name, (call) => fateOf(process, call))
  }
  return { story, calls, wrong: checkStory(story, await lab.get(name)) }
}

test('a step is never repeated once a later step has begun, at whichever call the operator dies', async () => {
  const { story, calls, wrong } = await play('undisturbed', () => 'done')
  expect(wrong).toEqual([])
  expect(story.effects).toHaveLength(6)
  expect(calls).toBeGreaterThan(4)
  const broken: string[] = []
  for (let call = 1; call <= calls; call += 1) {
    for (const moment of ['before', 'after'] as const) {
      const death = (process: number, its: number): Fate => (process === 0 && its === call ? `dies ${moment}` : 'done')
      const { story, wrong } = await play(`dies-${moment}-${call}`, death)
      broken.push(...wrong.map((what) => `${moment} call ${call}: ${what}`))
      for (const effect of new Set(story.effects)) {
        const times = story.effects.filter((one) => one === effect).length
        if (times > 2) broken.push(`${moment} call ${call}: ${effect} is done ${times} times`)
      }
    }
  }
  expect(broken).toEqual([])
}, 120_000)

test('a step is never repeated once a later step has begun, with repeated deaths and failing calls', async () => {
  const broken: string[] = []
  const fates: readonly Fate[] = ['refused', 'lost', 'dies before', 'dies after']
  for (let seed = 0; seed < (lab.isReal ? 3 : 25); seed += 1) {
    const random = new Random(`steps-${seed}`)
    // Later processes have no failures, so that the handling ends.
    const fateOf = (process: number): Fate => (process < 6 && random.chance(0.4) ? random.pick(fates) : 'done')
    const { wrong } = await play(`rough-${seed}`, fateOf)
    broken.push(...wrong.map((what) => `seed ${seed}: ${what}`))
  }
  expect(broken).toEqual([])
}, 120_000)
