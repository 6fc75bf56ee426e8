import { expect, test } from 'vitest'
import type { ViewName, Views } from '../../dashboard/protocol.ts'
import type { Clock } from '../../util/async/clock.ts'
import { createPalette } from '../display/colours.ts'
import { TopScreen } from './top-screen.ts'
import { createTopView } from './top-view.ts'

/** A clock whose sleeps end when the test says so. */
class StepClock implements Clock {
  #wake: (() => void) | undefined
  sleeps = 0

  now(): number {
    return 0
  }

  sleep(_: number, signal?: AbortSignal): Promise<void> {
    this.sleeps += 1
    return new Promise((resolve, reject) => {
      this.#wake = resolve
      if (signal?.aborted) reject(signal.reason)
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  step(): void {
    this.#wake?.()
  }
}

class Terminal {
  readonly columns = 80
  readonly rows = 24
  lines: readonly string[] = []
  left = 0
  readonly clock = new StepClock()
  reads: string[] = []
  failure: Error | undefined
  readonly stopping = new AbortController()
  readonly screen: TopScreen = new TopScreen({
    read: async (name, query) => {
      if (name === 'objects') this.reads.push(JSON.stringify(query))
      if (this.failure) throw this.failure
      return views[name]! as never
    },
    view: createTopView(),
    openScreen: () => this,
    palette: createPalette(false),
    clock: this.clock,
  })
  readonly done: Promise<void> = this.screen.run(this.stopping.signal)

  draw(lines: readonly string[]): void {
    this.lines = lines
  }

  leave(): void {
    this.left += 1
  }

  /** Waits until the screen waits for the next second. */
  async settle(): Promise<void> {
    for (let before = -1; before !== this.clock.sleeps; ) {
      before = this.clock.sleeps
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
    }
  }
}

const views: Partial<{ [N in ViewName]: unknown }> = {
  overview: {
    operator: {
      name: 'widgets',
      version: '1',
      node: '20',
      startedAtMs: 0,
      phase: 'running',
      leader: 'none',
      isPaused: false,
      pausedNamespaces: [],
    },
    readiness: { ready: true, checks: {} },
    resources: [],
    queue: { waiting: 0, active: 0, longestWaitSeconds: 0 },
    eventLoop: { lagMs: 0 },
    memory: { rssBytes: 0, heapBytes: 0 },
    daemons: 0,
    problems: 0,
    history: [],
  } satisfies Views['overview'],
  problems: { problems: [] },
  handlers: { handlers: [] },
  requests: { total: 0, perSecond: 0, rows: [] },
  objects: { total: 0, offset: 0, rows: [], resources: [], namespaces: [] },
}

test('the screen reads the state every second, and at once after a key that asks for other objects', async () => {
  const terminal = new Terminal()
  await terminal.settle()
  expect(terminal.reads).toHaveLength(1)
  terminal.clock.step()
  await terminal.settle()
  expect(terminal.reads).toHaveLength(2)
  terminal.screen.press('a')
  await terminal.settle()
  expect(terminal.reads).toHaveLength(3)
  expect(terminal.reads[2]).not.toContain('failed')
  // The help is no other question.
  terminal.screen.press('?')
  await terminal.settle()
  expect(terminal.reads).toHaveLength(3)
  terminal.screen.quit()
  await terminal.done
})

test('a paused screen reads nothing, and reads at once when it goes on', async () => {
  const terminal = new Terminal()
  await terminal.settle()
  terminal.screen.press('p')
  await terminal.settle()
  for (let second = 0; second < 3; second += 1) {
    terminal.clock.step()
    await terminal.settle()
  }
  expect(terminal.reads).toHaveLength(1)
  expect(terminal.lines[0]).toContain('display paused')
  terminal.screen.press('p')
  await terminal.settle()
  expect(terminal.reads).toHaveLength(2)
  terminal.screen.quit()
  await terminal.done
})

test('a failure to read is shown with the last state, until the next reading succeeds', async () => {
  const terminal = new Terminal()
  await terminal.settle()
  terminal.failure = Object.assign(new Error('unused'), {
    message: 'Cannot reach the operator',
    stack: 'Cannot reach the operator',
  })
  terminal.clock.step()
  await terminal.settle()
  expect(terminal.lines.slice(0, 3).join('\n')).toMatch(/^widgets[\s\S]*Cannot reach the operator/)
  terminal.failure = undefined
  terminal.clock.step()
  await terminal.settle()
  expect(terminal.lines.join('\n')).not.toContain('Cannot reach the operator')
  terminal.stopping.abort()
  await terminal.done
})

test('an operator of another version is no reason to crash', async () => {
  const known = views.handlers
  views.handlers = { rows: 'other' }
  const terminal = new Terminal()
  await terminal.settle()
  views.handlers = known
  expect(terminal.lines.join(' ')).toContain('its answers are not those of the dashboard of this version')
  terminal.screen.press('q')
  await terminal.done
  expect(terminal.left).toBeGreaterThan(0)
  expect(terminal.screen.isOpen).toBe(false)
})
