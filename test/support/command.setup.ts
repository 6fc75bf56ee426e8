/**
 * The package built once for a whole run: tests start the command `kopf` many times, and from its sources each start would take
 * three times as long. Inside the project, where its dependencies are found; a folder for each run, since runs may be side by side.
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
