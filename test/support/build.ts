/** Builds the published package into a temporary folder inside the project, so that Node finds its dependencies. */
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildPackage } from '../../tools/build/package.ts'

export interface Build extends Disposable {
  /** The folder of package.json. */
  readonly folder: string
}

export async function buildForTests(): Promise<Build> {
  mkdirSync('.vitest', { recursive: true })
  const folder = mkdtempSync(resolve('.vitest', 'build-'))
  copyFileSync('package.json', join(folder, 'package.json'))
  cpSync('templates', join(folder, 'templates'), { recursive: true })
  // `npm test` has just built the package. Its copy is not affected by a build during the tests.
  const dist = process.env['KOPF_TEST_DIST']
  if (dist === undefined) await buildPackage(join(folder, 'dist'))
  else cpSync(dist, join(folder, 'dist'), { recursive: true })
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
