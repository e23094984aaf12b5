"""What is counted: numbers in a file that workers map into memory and the control process reads."""
