/**
 * Builds the package once per test run: tests start the command `kopf` many times, and starting it from its sources takes three
 * times as long. Each run has its own folder, since runs may be concurrent.
 */
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { buildForTests } from './build.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The path of the built command. */
    command: string
    /** The folder of the built package. */
    package: string
  }
}

export async function setup(project: TestProject): Promise<() => void> {
  const build = await buildForTests()
  project.provide('command', join(build.folder, 'dist', 'cli', 'main.js'))
  project.provide('package', build.folder)
  return () => build[Symbol.dispose]()
}
