/** Names what failed, and ends with the totals of all suites. What failed first and passed alone is named, too. */
import { failuresIn, readReports } from './failures.mjs'

const [folder, failedSteps] = process.argv.slice(2)
let passed = 0
let failed = 0
const forgivenSteps = new Set()
for (const { suite, report, again } of readReports(folder)) {
  if (report === undefined) {
    console.log(`${suite}: did not run to its end`)
    failed += 1
    continue
  }
  const failures = failuresIn(report)
  const lasting = again === undefined ? failures : failuresIn(again)
  for (const { file, test, message } of failures) {
    const isLasting = lasting.some((other) => other.file === file && other.test === test)
    console.log(`${suite}: ${isLasting ? 'failed' : 'passed only alone'}: ${file}: ${test}\n${firstLines(message)}`)
  }
  const mended = Math.max(0, failures.length - lasting.length)
  if (failures.length > 0 && lasting.length === 0)
    forgivenSteps.add(suite.replace(/^real-\d/, 'real').replace(/-slow$/, ''))
  console.log(`${suite}: ${report.numPassedTests + mended} passed, ${lasting.length} failed`)
  passed += report.numPassedTests + mended
  failed += lasting.length
}
// A step that failed without a failed test: lint, types, packaging.
if (failed === 0) failed = Number(failedSteps) - forgivenSteps.size
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

function firstLines(message) {
  const lines = message.split('\n').slice(0, 6)
  return lines.map((line) => `    ${line}`).join('\n')
}
