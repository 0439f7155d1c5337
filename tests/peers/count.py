"""Counts a JUnit file: `passed failed skipped` on stdout, why each was skipped on stderr."""

import sys
import xml.etree.ElementTree as ElementTree


def main():
    passed = failed = skipped = 0
    for case in ElementTree.parse(sys.argv[1]).iter("testcase"):
        why = case.find("skipped")
        if why is not None:
            skipped += 1
            print(f"{case.get('name')}: {why.get('message')}", file=sys.stderr)
        elif case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        else:
            passed += 1
    print(passed, failed, skipped)


main()
