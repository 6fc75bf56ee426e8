/** Where an example is run: the same words for the embedded server and the real control plane. */
import type { Reply } from '../support/lab.ts'
import { EmbeddedStage } from './embedded-stage.ts'
import { RealStage } from './real-stage.ts'
import type { Terminal } from './shown.ts'

export interface Run {
  readonly terminal: Terminal
  /** As with Ctrl-C; resolves when it has ended. */
  stop(): Promise<void>
}

export interface Stage {
  /** What a user does first: `kubectl apply …`, or nothing where it is done by the command that runs the operator. */
  prepare(shell: readonly string[]): Promise<void>
  /** `npx kopf run …`, as it stands in the README. */
  run(command: string): Promise<Run>
  /** Any other command, from another terminal; what it prints. */
  answer(command: string): Promise<string>
  call(method: string, path: string, body?: object): Promise<Reply>
  /** Lets things happen, and time pass, until it is so. */
  until(isSo: () => boolean | Promise<boolean>): Promise<void>
  close(): Promise<void>
}

export const isReal: boolean = process.env['KOPF_TEST_CLUSTER'] === 'real'

export async function openStage(folder: string): Promise<Stage> {
  return isReal ? RealStage.open(folder) : EmbeddedStage.open(folder)
}
