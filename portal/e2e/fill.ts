// Before all journeys: fills one database, of which each file of journeys gets a copy.
import { demoData, removeData } from './service';

export default function fill(): () => void {
  const data = demoData();
  process.env.TRUNKLINE_E2E_DATA = JSON.stringify(data);
  return () => removeData(data);
}
