/** Builds the page of the dashboard into `dist/`, where an operator that runs from its sources reads it. */
import { writeDashboard } from '../../tools/build/dashboard.ts'

export async function setup(): Promise<void> {
  await writeDashboard('dist')
}
