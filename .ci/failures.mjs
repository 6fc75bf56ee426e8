/** What the suites have written down: which tests failed in which suite. */
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const suites = [
  'embedded',
  'slow',
  'simulation',
  'package',
  'site',
  ...['node-22', 'node-24', 'node-26'].flatMap((suite) => [suite, `${suite}-slow`]),
  'real-1',
  'real-2',
  'real-3',
]

/** The report of each suite; undefined of one that did not run to its end. */
export function readReports(folder) {
  return suites.map((suite) => ({
    suite,
    report: readReport(`${folder}/${suite}.json`),
    again: readReport(`${folder}/${suite}-again.json`),
  }))
}

function readReport(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** A file that could not even be loaded has failed as a whole, and counts as one test. */
export function failuresIn(report) {
  if (report === undefined) return []
  return report.testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative('.', name)
    const failed = assertionResults.filter((test) => test.status === 'failed')
    if (failed.length === 0) return status === 'failed' ? [{ file, test: 'the file', message }] : []
    return failed.map((test) => ({ file, test: test.fullName, message: test.failureMessages.join('\n') }))
  })
}
