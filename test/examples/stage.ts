/** The place where an example runs: the embedded server or the real control plane. */
import type { Reply } from '../support/lab.ts'
import { EmbeddedStage } from './embedded-stage.ts'
import { RealStage } from './real-stage.ts'
import type { Terminal } from './shown.ts'

export interface Run {
  readonly terminal: Terminal
  /** Stops it as Ctrl-C does; resolves when it has ended. */
  stop(): Promise<void>
}

export interface Stage {
  /** Runs the preparations of the README, such as `kubectl apply …`, unless the run command includes them. */
  prepare(shell: readonly string[]): Promise<void>
  /** Runs `npx kopf run …` from the README. */
  run(command: string): Promise<Run>
  /** Runs any other command, and returns its output. */
  answer(command: string): Promise<string>
  call(method: string, path: string, body?: object): Promise<Reply>
  /** Waits until the condition holds. */
  until(isSo: () => boolean | Promise<boolean>): Promise<void>
  close(): Promise<void>
}

export const isReal: boolean = process.env['KOPF_TEST_CLUSTER'] === 'real'

export async function openStage(folder: string): Promise<Stage> {
  return isReal ? RealStage.open(folder) : EmbeddedStage.open(folder)
}
