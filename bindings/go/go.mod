module nay

go 1.19
