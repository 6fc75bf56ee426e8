/** The operator dies before and after each single call of the API, in the middle of handlers with steps. Another one goes on. */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { isHandled, recordsOf, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'

const lab = useCleanLab()

type Moment = 'before' | 'after'

interface Process {
  isDead: boolean
}

/** What was done to the world, in order; and what each attempt was told of it. */
class Story {
  readonly effects: string[] = []
  readonly seen: string[] = []

  /** A process that is dead does nothing any more. */
  act(process: Process, effect: string): string {
    if (process.isDead) throw new Error('This process is dead')
    this.effects.push(effect)
    return `${effect}#${this.effects.filter((one) => one === effect).length}`
  }
}

/** Three steps, two at the same time and one after them, in a handler and in a sub-handler; and it fails once in between. */
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

/** Starts one that dies at that call; undefined to live. Resolves when the object is handled, or the process is dead. */
async function run(story: Story, name: string, death?: { call: number; moment: Moment }): Promise<number> {
  const process: Process = { isDead: false }
  const transport = lab.record()
  let calls = 0
  transport.meddle = async (request, send) => {
    if (process.isDead) throw new Error('This process is dead')
    if (!request.path.includes(`/${name}`)) return send()
    calls += 1
    if (calls !== death?.call) return send()
    if (death.moment === 'before') process.isDead = true
    else await send().finally(() => (process.isDead = true))
    throw new Error('This process is dead')
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
  const times = (effect: string) => effects.filter((one) => one === effect).length
  for (const effect of new Set(effects)) if (times(effect) > 2) wrong.push(`${effect} is done ${times(effect)} times`)
  // Whoever comes later knows what was written of the one before, which is the last time it was done.
  const expected = `c(a#${times('a')},b1#${times('b1')},b2#${times('b2')})`
  if (!effects.includes(expected)) wrong.push(`c is told of another past: ${effects.join(' ')}`)
  if (Object.keys(recordsOf(body)).length > 0) wrong.push(`left behind: ${Object.keys(recordsOf(body)).join(' ')}`)
  return wrong
}

async function play(name: string, death?: { call: number; moment: Moment }) {
  const story = new Story()
  await lab.create(name)
  const calls = await run(story, name, death)
  if (death !== undefined && !isHandled(await lab.get(name))) await run(story, name)
  return { story, calls, wrong: checkStory(story, await lab.get(name)) }
}

test('once a step has begun, those before it are never done again; whenever the operator dies', async () => {
  const { story, calls, wrong } = await play('undisturbed')
  expect(wrong).toEqual([])
  expect(story.effects).toHaveLength(6)
  expect(calls).toBeGreaterThan(4)
  const broken: string[] = []
  for (let call = 1; call <= calls; call += 1) {
    for (const moment of ['before', 'after'] as const) {
      const outcome = await play(`dies-${moment}-${call}`, { call, moment })
      broken.push(
        ...outcome.wrong.map((what) => `${moment} call ${call}: ${what} (${outcome.story.effects.join(' ')})`),
      )
    }
  }
  expect(broken).toEqual([])
}, 120_000)
